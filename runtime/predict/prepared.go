package predict

// Prepared is an input that its model may get.
type Prepared struct {
	// Input is the JSON object for the model. It may be the client's own bytes.
	Input []byte
	// Unknown are the keys that were dropped, in order, each once; of very many only the first, and long ones cut (Clip).
	Unknown []string
	// Warnings say of Unknown, for the client, what they are and what may have been meant. They are printable ASCII.
	Warnings []string
	// Files are the values that name files, in the order in which they stand in Input.
	Files []File
}

// File is a value of an input that names a file.
type File struct {
	Field      string // "image", "images/0"
	Start, End int    // where the string, with its quotes, stands in Prepared.Input
	URL        string // an http, https or data URL; may alias Prepared.Input; "" of an attached file
	Attached   int    // the attached file's number, where URL is ""
	Path       string // where it lies already; "": it is to be fetched
}
