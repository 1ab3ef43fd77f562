package predict

import "os"

// OutFile is an output that is one file, which is there until the prediction's last release.
type OutFile struct {
	Content *os.File // read with ReadAt alone
	Name    string   // as the model has called it
	Type    string   // its media type
	Size    int64    // bytes
	// Listed: the output is a list, and the file its only item.
	Listed bool
}

// SetFile says that the output is a file; what stands in its record then means nothing to anybody else. It is
// called before End.
func (p *Prediction) SetFile(f *OutFile) {
	p.mu.Lock()
	p.file = f
	p.mu.Unlock()
}

// File is the file that the output is; nil: it is what its record says.
func (p *Prediction) File() *OutFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.file
}
