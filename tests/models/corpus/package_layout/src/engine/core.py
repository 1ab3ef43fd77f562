class Engine:
    def run(self, text: str) -> str:
        return text.title()
