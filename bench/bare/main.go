package main

import (
	"flag"
	"log"
	"time"

	"github.com/bytedance/sonic"
	"github.com/valyala/fasthttp"

	"pinion/runtime/predict"
)

type request struct {
	ID    string `json:"id"`
	Input struct {
		Text string `json:"text"`
	} `json:"input"`
}

type answer[T any] struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Output  T      `json:"output"`
	Logs    string `json:"logs"`
	Metrics struct {
		PredictTime float64 `json:"predict_time"`
	} `json:"metrics"`
	Created   string `json:"created_at"`
	Started   string `json:"started_at"`
	Completed string `json:"completed_at"`
}

const instant = "2006-01-02T15:04:05.000000Z07:00"

func echo(ctx *fasthttp.RequestCtx) {
	created := time.Now()
	var in request
	if err := sonic.Unmarshal(ctx.PostBody(), &in); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	reply(ctx, in.ID, created, time.Now(), in.Input.Text)
}

// reply answers with a prediction object.
func reply[T any](ctx *fasthttp.RequestCtx, id string, created, started time.Time, output T) {
	out := answer[T]{ID: id, Status: "succeeded", Output: output}
	if out.ID == "" {
		out.ID = predict.NewID(created)
	}
	completed := time.Now()
	out.Metrics.PredictTime = completed.Sub(started).Seconds()
	out.Created = created.UTC().Format(instant)
	out.Started = started.UTC().Format(instant)
	out.Completed = completed.UTC().Format(instant)
	body, err := sonic.Marshal(&out)
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

func main() {
	address := flag.String("address", "127.0.0.1:5999", "address to listen on")
	batches := flag.Bool("batches", false, "be the model that sleeps 5 ms + 0.1 ms·n for a batch of n, at most 32")
	mirror := flag.Bool("mirror", false, "answer with the bytes that came")
	paced := flag.Bool("tokens", false, "stream tokens, each after the pause that the input says")
	flag.Parse()
	server := &fasthttp.Server{Handler: echo, NoDefaultServerHeader: true, MaxRequestBodySize: 128 << 20}
	if *batches {
		b := newBatcher()
		server.Handler, server.ConnState = b.handle, b.count
	}
	if *paced {
		server.Handler = tokens
	}
	if *mirror {
		server.Handler = func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("application/octet-stream")
			ctx.SetBody(ctx.PostBody())
		}
	}
	log.Fatal(server.ListenAndServe(*address))
}
