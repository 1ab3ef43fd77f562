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

type answer struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Output  string `json:"output"`
	Logs    string `json:"logs"`
	Metrics struct {
		PredictTime float64 `json:"predict_time"`
	} `json:"metrics"`
	Created   string `json:"created_at"`
	Started   string `json:"started_at"`
	Completed string `json:"completed_at"`
}

const instant = "2006-01-02T15:04:05.000000Z07:00"

func handle(ctx *fasthttp.RequestCtx) {
	created := time.Now()
	var in request
	if err := sonic.Unmarshal(ctx.PostBody(), &in); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	started := time.Now()
	out := answer{ID: in.ID, Status: "succeeded", Output: in.Input.Text}
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
	flag.Parse()
	server := &fasthttp.Server{Handler: handle, NoDefaultServerHeader: true, MaxRequestBodySize: 128 << 20}
	log.Fatal(server.ListenAndServe(*address))
}
