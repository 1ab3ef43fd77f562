def run(:
