package inputs

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// maxPiece is how many bytes of a file are an item of bytes.
const maxPiece = 64 << 10

// Items are the items of a streamed input that a file or stdin has: for bytes what each read gets, else its lines.
type Items struct {
	Name   string // of the input
	from   *bufio.Reader
	fields *Fields
	item   *shape
}

// openItems opens the file of a streamed input, given as @file or @-.
func (f *Fields) openItems(name, file string, stdin io.Reader) (*Items, error) {
	from := stdin
	if file != stdinName {
		opened, err := os.Open(file) // until the command ends
		if err != nil {
			return nil, err
		}
		from = opened
	}
	item := f.resolve(f.resolve(f.named[name]).Items)
	return &Items{Name: name, from: bufio.NewReaderSize(from, maxPiece), fields: f, item: item}, nil
}

// next returns the next item, or io.EOF.
func (i *Items) next() (predict.Item, error) {
	if i.item.Format == "byte" {
		if _, err := i.from.Peek(1); err != nil {
			return predict.Item{}, err
		}
		piece := make([]byte, i.from.Buffered())
		_, err := i.from.Read(piece)
		return predict.Item{Value: piece, Binary: true}, err
	}
	for {
		line, err := i.from.ReadBytes('\n')
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
			return predict.Item{Value: i.fields.typed(i.item, string(text))}, nil // the end comes again
		}
		if err != nil {
			return predict.Item{}, err
		}
	}
}

// Feed puts the items until their end, or that of the prediction.
func (i *Items) Feed(to *predict.Inlet) {
	for {
		if i.from.Buffered() == 0 {
			to.Flush()
		}
		item, err := i.next()
		if err == nil {
			err = to.Put(item, nil)
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			to.End("")
		default:
			to.End(predict.ItemReason(err))
		}
		return
	}
}

// Lines returns the body of a request with this input and the items: a line of JSON each.
func (i *Items) Lines(input []byte) io.ReadCloser {
	body, to := io.Pipe()
	go func() {
		_, err := fmt.Fprintf(to, "{\"input\":%s}\n", input)
		for err == nil {
			var item predict.Item
			if item, err = i.next(); err != nil {
				break
			}
			line := item.Value
			if item.Binary {
				line = rawjson.AppendQuotedBytes(nil, base64.StdEncoding.AppendEncode(nil, line))
			}
			_, err = to.Write(append(line, '\n'))
		}
		to.CloseWithError(err) // io.EOF is the end
	}()
	return body
}
