package main

import (
	"flag"
	"log"

	"github.com/valyala/fasthttp"
)

func main() {
	address := flag.String("address", "127.0.0.1:4318", "where to listen")
	flag.Parse()
	answer := func(ctx *fasthttp.RequestCtx) { ctx.SetContentType("application/x-protobuf") }
	server := &fasthttp.Server{Handler: answer, MaxRequestBodySize: 64 << 20}
	log.Fatal(server.ListenAndServe(*address))
}
