package natsserver

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// SocketFD is the descriptor of the socket that listens for clients.
const SocketFD = 3

// Ready is the line that says that the server serves.
const Ready = "ready"

// Main is the main function of the server's process. version is that of this binary; the one that starts it says its
// own by -version. It returns the exit code.
func Main(args []string, version string) int {
	o, starter, err := parse(args)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "pinion-nats %s: this is the job queue of 'pinion serve --nats embed', which starts it: %v\n",
			version, err)
		return 2
	case starter != version:
		fmt.Printf("pinion-nats is version %s and pinion is version %s: install both from one release\n", version, starter)
		return 1
	}
	// The parent decides when this process ends. Signals to all processes of a terminal or a service reach it, too.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	s, socket, err := open(o)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer s.Close()
	go s.accept(socket)
	fmt.Println(Ready)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := s.Broken(); err != nil {
			o.Logger.Errorf("the store in %s does not work, so NATS is started again: %v", o.Dir, err)
			return 1
		}
	}
	return 0
}

func parse(args []string) (o Options, starter string, err error) {
	f := flag.NewFlagSet("pinion-nats", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&starter, "version", "", "the version of the process that starts this one")
	f.StringVar(&o.Dir, "dir", "", "the folder of the job queue")
	f.DurationVar(&o.Sync, "sync", 0, "how often the files are written through to the disk; 0: with each message")
	err = f.Parse(args)
	if err == nil && (o.Dir == "" || starter == "" || f.NArg() > 0) {
		err = errors.New("must have the flags -version, -dir and -sync")
	}
	o.Logger = Logger{os.Stderr}
	return o, starter, err
}

// open starts the server, and takes the socket that the parent has opened: clients that connect meanwhile wait in it.
func open(o Options) (*Server, net.Listener, error) {
	file := os.NewFile(SocketFD, "socket")
	socket, err := net.FileListener(file)
	_ = file.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("listen on the job queue's socket: %w", err)
	}
	s, err := Start(o)
	return s, socket, err
}

// accept joins each connection of the socket to NATS, which itself listens on ports alone.
func (s *Server) accept(socket net.Listener) {
	for {
		client, err := socket.Accept()
		if err != nil {
			s.o.Logger.Errorf("the job queue's socket takes no more connections: %v", err)
			return
		}
		inside, err := s.InProcessConn()
		if err != nil {
			client.Close()
			return
		}
		go join(client, inside)
	}
}

// join copies both ways until either side ends.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, ends := range [2][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(ends[0], ends[1])
			a.Close()
			b.Close()
		})
	}
	both.Wait()
}
