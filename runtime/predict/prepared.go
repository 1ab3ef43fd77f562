package predict

// Prepared is an input that was validated for its model.
type Prepared struct {
	// Input is the JSON object for the model. It may be the client's bytes.
	Input []byte
	// Unknown holds the dropped keys in order, each once. Long keys are clipped, and of very many only the first are
	// listed.
	Unknown []string
	// Warnings name the Unknown keys, and the inputs that may have been meant. They are printable ASCII.
	Warnings []string
	// Files holds the values that name files, in the order of Input.
	Files []File
}

// File is a value of an input that names a file.
type File struct {
	Field      string // "image", "images/0"
	Start, End int    // offsets of the string, with its quotes, in Prepared.Input
	URL        string // an http, https or data URL; may alias Prepared.Input; "" for an attached file
	Attached   int    // the attached file's number, if URL is ""
	Path       string // where the file is; "" means it must be fetched
	Content    bool   // the model gets the content, not the path
}
