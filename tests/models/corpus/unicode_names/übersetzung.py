WÖRTER = {"ja": "はい"}
