package predict

import "io"

// OutputFile is an output that is one file. It stays readable until the prediction's last Release.
type OutputFile struct {
	Content io.ReaderAt
	Name    string // as the model named it
	Type    string // its media type
	Size    int64  // bytes
	// Listed means that the output is a list, and the file is its only item.
	Listed bool
}

// SetFile replaces the output by a file; Record.Output then has no meaning for other readers. It is called before End.
func (p *Prediction) SetFile(f *OutputFile) {
	p.mu.Lock()
	p.file = f
	p.mu.Unlock()
}

// OutputFolder is the folder of an output's files: Path/n/name. The output has "pinion-file:Token:n/name" in place of
// each.
type OutputFolder struct{ Path, Token string }

// SetFolder sets where the output files are, until the prediction's last Release. It is called before the model runs.
func (p *Prediction) SetFolder(f OutputFolder) {
	p.mu.Lock()
	p.folder = &f
	p.mu.Unlock()
}

// Folder returns where the output files are, or the zero OutputFolder.
func (p *Prediction) Folder() OutputFolder {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.folder == nil {
		return OutputFolder{}
	}
	return *p.folder
}

// File returns the output if it is one file; nil means the record has the output.
func (p *Prediction) File() *OutputFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.file
}
