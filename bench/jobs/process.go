package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a server of the measurement.
type process struct {
	cmd *exec.Cmd
	url string
}

func (p *process) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// startNATS starts NATS with a folder of that name.
func (b *bench) startNATS(name string) (*process, error) {
	return (&natsServer{Dir: filepath.Join(b.dir, name), Port: natsPort}).start()
}

// start starts the server and waits until it listens.
func (n *natsServer) start() (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), envNATS+"="+string(text))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for range 200 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.Port))
		if err == nil {
			return &process{cmd: cmd}, c.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.New("NATS does not listen")
}

// serve starts a server of the model and waits until it is ready.
func (b *bench) serve(args ...string) (*process, error) {
	args = append([]string{
		"serve", b.dir, "--predictor", "run.py:run", "--port", "0", "--log-format", "json", "--queue",
		"256", "--concurrency", fmt.Sprint(b.places),
	}, args...)
	if b.python != "" {
		args = append(args, "--python", b.python)
	}
	return b.start("worker ready", args...)
}

// gateway starts a gateway of a model.
func (b *bench) gateway(nats, model string, args ...string) (*process, error) {
	return b.start("listening", append([]string{
		"gateway", "--port", "0", "--log-format", "json", "--nats", nats, "--model", model,
	}, args...)...)
}

// start starts Pinion and waits until it logs a message.
func (b *bench) start(ready string, args ...string) (*process, error) {
	cmd := exec.Command(b.binary, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return startCommand(cmd, ready)
}

// startCommand starts a process and waits until it logs a message.
func startCommand(cmd *exec.Cmd, ready string) (*process, error) {
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ Msg, Address string }
		_ = json.Unmarshal(lines.Bytes(), &line) // some lines are not JSON
		if line.Address != "" && p.url == "" {
			p.url = line.Address
		}
		if line.Msg == ready {
			go func() {
				for lines.Scan() { // a full pipe would stop it
				}
			}()
			return p, nil
		}
	}
	return nil, fmt.Errorf("%v ended before it was ready", cmd.Args)
}
