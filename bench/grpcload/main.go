package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "pinion/httpd/oip/grpc/inferencepb"
)

func main() {
	address := flag.String("address", "127.0.0.1:8001", "the server's address")
	connections := flag.Int("connections", 64, "connections, each with one call at a time")
	length := flag.Duration("for", 2*time.Second, "how long")
	flag.Parse()
	var calls, wrong atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range *connections {
		conn, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		wg.Go(func() { ask(begin.Add(*length), pb.NewGRPCInferenceServiceClient(conn), &calls, &wrong) })
	}
	wg.Wait()
	fmt.Printf("RESULT requests=%d us=%d wrong=%d\n", calls.Load(), time.Since(begin).Microseconds(), wrong.Load())
}

// ask sends calls until end.
func ask(end time.Time, client pb.GRPCInferenceServiceClient, calls, wrong *atomic.Int64) {
	values := []float32{1, 2, 3, 4}
	request := &pb.ModelInferRequest{ModelName: "bench", Inputs: []*pb.ModelInferRequest_InferInputTensor{{
		Name: "x", Datatype: "FP32", Shape: []int64{4}, Contents: &pb.InferTensorContents{Fp32Contents: values},
	}}}
	for time.Now().Before(end) {
		answer, err := client.ModelInfer(context.Background(), request)
		calls.Add(1)
		if err != nil || len(answer.GetOutputs()) != 1 ||
			len(answer.GetOutputs()[0].GetContents().GetFp32Contents()) != len(values) {
			wrong.Add(1)
		}
	}
}
