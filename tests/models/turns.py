"""Loops whose jumps back to their begin CPython leaves out of the `try` block around them."""


def run(how: str) -> None:
    n = 10**30
    try:
        print("begun")
        if how == "for":
            for i in range(n):
                str(i)
                if not how:
                    print(i)
        elif how == "while":
            while n > 1:
                n -= 1
        else:
            while sorted(range(50)):
                n -= 1
    finally:
        print("clean")
