"""Names that are not English: parameters, classes, modules, files, metrics are not."""

from cog import BaseModel, BaseRunner, Input, Path
from übersetzung import WÖRTER


class Ergebnis(BaseModel):
    größe: int
    名前: str


class Übersetzer(BaseRunner):
    def run(self, größe: int, 名前: str = Input(default="日本", description="Wie heißt du? 🐍")) -> Ergebnis:
        print(f"Größe: {größe} 名前: {名前} 🐍")
        datei = Path("дані.txt")
        datei.write_text(名前, encoding="utf-8")
        if größe < 0:
            raise ValueError(f"größe ist {größe} 🙁")
        return Ergebnis(größe=größe, 名前=datei.read_text(encoding="utf-8") + WÖRTER["ja"])
