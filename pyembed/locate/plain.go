package locate

// Interpreter chooses the interpreter as Find does, for a program that runs it as it is: its shared
// library is not looked for, and LibPython is empty. Its errors are *Error.
func Interpreter(o Options) (*Python, error) {
	return newFinder(o, thisHost()).interpreter(o)
}

func (f *finder) interpreter(o Options) (*Python, error) {
	p, _, err := f.chosen(o)
	return p, err
}
