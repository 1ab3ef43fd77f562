package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/process"
)

const (
	// maxLogTail is the most of a log that --lines shows.
	maxLogTail = 4 << 20
	// followPause is the time between two reads of a log that grows.
	followPause = 200 * time.Millisecond
)

func newLogs() *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use: "logs [SERVER]", Short: "Print the log of one of your servers on this machine", Args: oneServer,
		ValidArgsFunction: completeServers,
		Long: `Print the end of a server's log, where its stderr is a file, as with pinion serve 2>server.log. Elsewhere it says where
the log goes.

` + serverArgument,
		Example: "  pinion logs\n  pinion logs 5000 --follow\n  pinion logs ./greeter --lines 20",
		RunE: func(_ *cobra.Command, args []string) error {
			if lines < 0 {
				return process.Misused(fmt.Errorf("--lines %d: must be at least 0", lines))
			}
			s, err := findServer(process.Servers(), args)
			if err != nil {
				return process.Misused(err)
			}
			log, err := openLog(s)
			if err != nil {
				return process.Failed(err)
			}
			defer log.Close()
			err = printEnd(log, lines, os.Stdout)
			if err == nil && follow {
				err = followLog(s, log, os.Stdout)
			}
			return process.Failed(err)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the server ends")
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "most lines to print of what is there")
	return cmd
}

// openLog opens the file that a server's log goes to.
func openLog(s process.ServerInfo) (*os.File, error) {
	path, name, err := s.Stderr()
	if err != nil {
		return nil, fmt.Errorf("find log of server %d: %w", s.PID, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("find log of server %d: %w", s.PID, err)
	}
	if !info.Mode().IsRegular() { // reading a terminal or a pipe would take what others are to read
		return nil, fmt.Errorf("the log of server %d goes to %s and is in no file: read it there, by journalctl or docker "+
			"logs for example, or start the server with 2>server.log", s.PID, name)
	}
	return os.Open(path)
}

// printEnd prints the last lines of a file, and leaves the file at its end.
func printEnd(log *os.File, lines int, to io.Writer) error {
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	text := make([]byte, min(size, maxLogTail))
	n, err := log.ReadAt(text, size-int64(len(text)))
	if err != nil && err != io.EOF { // it may have been cut meanwhile
		return err
	}
	text = text[:n]
	begin := len(bytes.TrimSuffix(text, []byte("\n")))
	if lines == 0 {
		begin = len(text)
	}
	for range lines {
		if begin = bytes.LastIndexByte(text[:max(begin, 0)], '\n'); begin < 0 {
			break
		}
	}
	if lines > 0 {
		begin++
	}
	_, err = to.Write(text[begin:])
	return err
}

// followLog prints what is added to a log until the server has ended.
func followLog(s process.ServerInfo, log *os.File, to io.Writer) error {
	p, err := s.Open()
	if err != nil {
		return nil //nolint:nilerr // it has ended, and what it wrote was printed
	}
	defer p.Close()
	for ended := false; !ended; {
		ended = p.Ended(followPause)
		if err := rewind(log); err != nil {
			return err
		}
		if _, err := io.Copy(to, log); err != nil {
			return err
		}
	}
	return nil
}

// rewind starts again at the beginning of a log that was truncated, as logrotate's copytruncate does.
func rewind(log *os.File) error {
	info, err := log.Stat()
	if err != nil {
		return err
	}
	at, err := log.Seek(0, io.SeekCurrent)
	if err == nil && at > info.Size() {
		_, err = log.Seek(0, io.SeekStart)
	}
	return err
}
