package predict

import "io"

// OutputFile is an output that is one file. It stays readable until the prediction's last Release.
type OutputFile struct {
	Content io.ReaderAt
	Name    string // as the model named it
	Type    string // its media type
	Size    int64  // bytes
	// Listed: the output is a list, and the file is its only item.
	Listed bool
}

// SetFile replaces the output by a file; Record.Output then has no meaning for other readers. It is called before End.
func (p *Prediction) SetFile(f *OutputFile) {
	p.mu.Lock()
	p.file = f
	p.mu.Unlock()
}

// File is the output where it is one file; nil: the record has the output.
func (p *Prediction) File() *OutputFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.file
}
