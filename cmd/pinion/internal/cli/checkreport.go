package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/pyembed/locate"
	"pinion/runtime/schema"
	"pinion/runtime/supervise"
)

// healthTimeout is how long the model's own healthcheck may take in a check.
const healthTimeout = 5 * time.Second

// checkOptions are the flags of 'pinion check'.
type checkOptions struct {
	model.Flags
	Reader model.Reader
	SetUp  bool // the model is set up too
	// Start starts a worker for the model. The caller closes the runner.
	Start func(*model.Model, *locate.Python, *slog.Logger) (*oneshot.Runner, error)
}

// checkFolder looks for mistakes in the model of a folder. The error says that a user interrupted it, or which of the
// options or variables is wrong.
func checkFolder(dir string, o checkOptions) (*checkReport, error) {
	r := &checkReport{by: o, Problems: []model.Problem{}, Warnings: []model.Problem{}}
	return r, r.run(dir)
}

// checkReport is what 'pinion check' finds.
type checkReport struct {
	by   checkOptions
	file *model.CogYAMLReport
	// readOnly means that the source was read, and the model not imported.
	readOnly bool

	Folder    string   `json:"folder"`
	Predictor string   `json:"predictor,omitempty"`
	Train     string   `json:"train,omitempty"`
	Python    string   `json:"python,omitempty"`
	Version   string   `json:"python_version,omitempty"`
	Inputs    []string `json:"inputs,omitempty"`
	// Functions are the inputs of those with @cog.function, by name.
	Functions map[string][]string `json:"functions,omitempty"`
	SetUp     bool                `json:"set_up"`
	Problems  []model.Problem     `json:"problems"`
	Warnings  []model.Problem     `json:"warnings"` // what may be intended
}

func (c *checkReport) add(p ...model.Problem)  { c.Problems = append(c.Problems, p...) }
func (c *checkReport) warn(p ...model.Problem) { c.Warnings = append(c.Warnings, p...) }

// run checks one part after another, as far as a part can be checked if the one before has failed.
func (c *checkReport) run(dir string) error {
	c.Folder = dir
	if abs, err := filepath.Abs(dir); err == nil {
		c.Folder = abs
	}
	if err := model.CheckFolder(dir); err != nil {
		return err
	}
	c.file = model.CheckCogYAML(c.Folder)
	c.add(c.file.Problems...)
	m, err := model.Find(dir, c.by.Predictor, os.Getenv)
	if err != nil {
		if len(c.Problems) == 0 {
			c.add(model.Problem{What: err.Error()})
		}
		m = model.Guess(c.Folder, c.by.Predictor, os.Getenv)
	}
	if m != nil {
		c.Predictor, c.Train = m.Ref, m.Train
		if err := m.SettleNoneDefaults(c.by.NoneDefaults); err != nil {
			return err
		}
	}
	python := c.interpreter()
	if err := c.file.CheckMachine(python); err != nil {
		if errors.Is(err, process.ErrInterrupted) {
			return err
		}
		c.add(model.Problem{What: err.Error()})
	}
	c.warn(c.file.Warnings...)
	if m == nil || python == nil || !c.fileExists(m) {
		return nil
	}
	document, err := c.source(m, python)
	if c.by.SetUp && document && len(c.Problems) == 0 {
		c.setUp(m, python)
	}
	return err
}

func (c *checkReport) fileExists(m *model.Model) bool {
	file, _, _ := strings.Cut(m.Name(), ":")
	info, err := os.Stat(filepath.Join(m.Dir, file))
	is := err == nil && info.Mode().IsRegular() // reading a device might never end
	if !is && len(c.Problems) == 0 {
		c.add(model.Problem{
			What: fmt.Sprintf("%s: file %s does not exist in %s", m.Name(), file, m.Dir),
			Fix:  "name the predictor as FILE.py:NAME",
		})
	}
	return is
}

// interpreter finds the interpreter and its library, or says why there is none.
func (c *checkReport) interpreter() *locate.Python {
	o := c.by.Locate(c.Folder)
	python, err := locate.Find(o)
	var notFound *locate.Error
	switch {
	case errors.As(err, &notFound):
		c.add(model.Problem{What: notFound.What, Fix: notFound.Fix})
	case err != nil:
		c.add(model.Problem{What: err.Error()})
	}
	if errors.Is(err, locate.ErrNoPython) {
		return nil
	}
	if err != nil { // without a library the source can be looked at all the same
		if python, err = locate.Interpreter(o); err != nil {
			return nil
		}
	}
	c.Python, c.Version = python.Executable, python.Version
	return python
}

// source looks at the model's source and at the document that it brings. good means that the model may be set up. The
// error is for a user who interrupted it.
func (c *checkReport) source(m *model.Model, python *locate.Python) (good bool, err error) {
	r, err := model.ReadSource(m, python, c.by.Reader)
	if errors.Is(err, process.ErrInterrupted) {
		return false, err
	}
	if err != nil {
		c.add(model.Problem{What: err.Error()})
		return false, nil
	}
	for _, p := range r.Problems {
		if p.File == "" { // it is about the reference itself
			p.File, p.Line = c.file.PredictorLine()
		}
		c.add(p)
	}
	c.warn(r.Warnings...)
	c.readOnly = r.How == "static"
	c.notImported(r)
	document := r.Document
	stored, err := model.ReadStored(m.Dir)
	if stored != nil && document != nil && m.NoneDefaults == model.NoneOptional {
		stored, err = model.WithNoneDefaults(stored, document)
	}
	if err != nil {
		c.add(model.Problem{File: model.StoredSchema, What: err.Error()})
	} else if stored != nil {
		c.compare(stored, document)
		document = stored
	}
	if document == nil {
		return c.by.SetUp && len(c.Problems) == 0, nil // the worker imports it
	}
	for name, of := range schema.Functions(document) {
		f, err := inputs.ReadFields(of.Document, false)
		if err != nil {
			c.add(model.Problem{What: fmt.Sprintf("the function %s: %s", name, err)})
			return false, nil
		}
		if c.Functions == nil {
			c.Functions = map[string][]string{}
		}
		c.Functions[name] = f.Order
	}
	if _, err := functionOf(document, ""); err != nil && m.Ref != "" { // it has functions alone
		return true, nil
	}
	f, err := inputs.ReadFields(document, m.Ref == "")
	if err != nil {
		c.add(model.Problem{
			File: model.StoredSchema, What: err.Error(),
			Fix: "fix it, or remove it to have the schema made from the source",
		})
		return false, nil
	}
	for _, part := range f.Unchecked() {
		c.warn(model.Problem{
			File: model.StoredSchema, What: part,
			Fix: "inputs are checked without this part; change it, or remove the file to have the schema made from the source",
		})
	}
	c.Inputs = f.Order
	return true, nil
}

// compare warns of a document that the model brings and that disagrees with its source.
func (c *checkReport) compare(stored, made []byte) {
	if made == nil {
		return
	}
	for _, difference := range model.CompareSchemas(stored, made) {
		c.warn(model.Problem{
			File: model.StoredSchema, What: difference,
			Fix: "the file is used; remove it to have the schema made from the source",
		})
	}
}

// notImported says what it means for the check that a model runs commands at its import. With --setup it means nothing,
// because a worker imports the model then.
func (c *checkReport) notImported(r *model.Reading) {
	if c.by.SetUp {
		return
	}
	for _, command := range r.Commands {
		if r.Document != nil || len(r.Problems) > 0 {
			command.Fix = "so its source alone was looked at; --execute imports it"
			c.warn(command)
			continue
		}
		command.Fix = "so the import was stopped there; --execute imports it all the same"
		for _, refusal := range r.Refusals {
			command.Fix += "\n    the source alone does not tell: " + refusal
		}
		c.add(command)
	}
}

// setUp sets the model up in a worker, and asks for its health.
func (c *checkReport) setUp(m *model.Model, python *locate.Python) {
	screen := terminal.NewScreen(os.Stderr)
	defer screen.Hide()
	r, err := c.by.Start(m, python, terminal.NewModelLog(screen))
	if err != nil {
		c.add(model.Problem{What: err.Error()})
		return
	}
	screen.Show("setting the model up")
	if err := r.Ready(); err != nil {
		r.Close(true)
		c.add(setupProblem(r.Worker().Status(), err))
		return
	}
	defer r.Close(false)
	c.SetUp = true
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	if err := r.Worker().Healthcheck(ctx); err != nil {
		c.add(model.Problem{What: "the model's healthcheck: " + err.Error()})
	}
}

// setupProblem returns a setup that failed; its traceback was printed.
func setupProblem(st supervise.Status, err error) model.Problem {
	p := model.Problem{What: err.Error()}
	if setup := st.Setup.Problem; setup != nil {
		p = model.Problem{File: setup.File, Line: setup.Line, What: "setup failed: " + setup.What, Fix: setup.Fix}
	}
	p.Fix = cmp.Or(p.Fix, "what the model printed stands above")
	return p
}

func (c *checkReport) Print(w io.Writer, asJSON bool) error {
	problems, warnings := len(c.Problems), len(c.Warnings)
	c.Problems, c.Warnings = model.Shown(c.Problems), model.Shown(c.Warnings)
	if asJSON {
		return inputs.PrintValue(w, c)
	}
	colours := terminal.ColoursOf(w)
	for _, p := range c.Problems {
		fmt.Fprintln(w, p.Traceback+colours.Red(p.String()))
	}
	for _, p := range c.Warnings {
		fmt.Fprintln(w, colours.Yellow("warning: ")+p.String())
	}
	also := ""
	if warnings > 0 {
		also = " and " + terminal.Counted(warnings, "warning")
	}
	if problems > 0 {
		_, err := fmt.Fprintf(w, "%s%s in %s\nSee %s\n", colours.Red(terminal.Counted(problems, "problem")), also, c.Folder,
			version.DocsPage("how-to/troubleshooting"))
		return err
	}
	_, err := fmt.Fprintf(w, "%s%s: %s %s with Python %s (%s)\n", colours.Green("no problem"), also,
		cmp.Or(c.Predictor, c.Train), c.how(), c.Version, c.Python)
	return err
}

// how says how the model was checked, where there is no problem.
func (c *checkReport) how() string {
	switch {
	case c.SetUp:
		return "loads and sets up"
	case c.readOnly:
		return "reads well"
	}
	return "loads"
}
