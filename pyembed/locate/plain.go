package locate

// Interpreter chooses the interpreter as Find does, for a program that runs it as it is: its shared
// library is not looked for, and LibPython is empty. Its errors are *Error.
func Interpreter(o Options) (*Python, error) {
	return newFinder(o, thisHost()).interpreter(o)
}

func (f *finder) interpreter(o Options) (*Python, error) {
	path, source, err := f.choose(o.Python)
	if err != nil {
		return nil, err
	}
	in, err := f.identify(path)
	if err != nil {
		return nil, err
	}
	if err := checkVersion(in.version, in.path); err != nil {
		return nil, err
	}
	return &Python{Executable: in.path, Version: in.version.String(), Venv: in.venv != nil, Source: source}, nil
}
