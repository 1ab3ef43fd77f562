module github.com/go-python/cpy3

go 1.26.0
