package main

import (
	"bufio"
	"time"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"
)

// tokens answers with as many events as the input says, one after each pause.
func tokens(ctx *fasthttp.RequestCtx) {
	var in struct {
		Input struct {
			Tokens int     `json:"max_tokens"`
			Pace   float64 `json:"pace"`
		} `json:"input"`
	}
	if err := sonic.Unmarshal(ctx.PostBody(), &in); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	ctx.SetContentType("text/event-stream")
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		for range in.Input.Tokens {
			time.Sleep(time.Duration(in.Input.Pace * float64(time.Second)))
			if _, _ = w.WriteString("event: output\ndata: {\"chunk\":\"token \"}\n\n"); w.Flush() != nil {
				return
			}
		}
	})
}
