package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pinion/ipc"
	"pinion/runtime/ranks"
	"pinion/runtime/slot"
)

// A worker of several ranks is a group: its process is rank 0, and the others are started, watched and ended with it.
// Rank 0 alone says what the model is. The group is ready when all ranks are, and ends when one does.

// rankGroup is the ranks of a worker. Its methods run in the worker's goroutine, unless they say otherwise. It implements
// slot.Worker, whose methods any goroutine may call: the logs are those of rank 0.
type rankGroup struct {
	*process // rank 0
	worker   *worker
	others   []*rank // ranks 1 and up
	port     int     // MASTER_PORT
	relay    *ranks.Relay
	ready    []byte // rank 0's Ready frame, until all ranks are ready
	leaving  bool   // the ranks were asked to end
	died     *rank  // the rank whose end ends the others; nil for rank 0, and if they were asked to
	untaken  uint64 // the request that a rank had not taken at the last ping
	misses   int    // pings in a row
	messages chan rankMessage
	dooming  sync.Once // the stacks are being logged
	stepless sync.Once // the model was said to come to no step
}

// rank is a process of a group.
type rank struct {
	number  int
	process *process
	hello   bool
	loaded  bool
	ready   bool
	pings   pings
}

type rankMessage struct {
	from *rank
	message
	exited bool // the process has ended, and this is its last message
}

// join starts the other ranks of a group. A rank that cannot be started ends those that were.
func (w *worker) join(tasks []task, port int) {
	g := &rankGroup{process: w.process, worker: w, port: port, messages: make(chan rankMessage)}
	w.group = g
	for i, t := range tasks {
		note := w.sup.noteWith("rank", i+1)
		p, err := start(w.sup.o.Exe, t, w.sup.o.Fleet.orphans, nil, newRecorder(w.sup.o.Logger, note))
		if err != nil {
			w.process.shortage.Store(IsShortage(err))
			w.terminate(CauseLeft, fmt.Sprintf("rank %d cannot be started: %v", i+1, err))
			return
		}
		r := &rank{number: i + 1, process: p}
		g.others = append(g.others, r)
		go g.follow(r)
	}
	w.change(func(st *ProcessStatus) {
		for _, p := range g.all() {
			st.Ranks = append(st.Ranks, p.child.pid)
		}
	})
}

// follow hands the messages of a rank to the worker's goroutine, and then its end. Its own goroutine.
func (g *rankGroup) follow(r *rank) {
	control := make(chan message, 16)
	go g.worker.listen(r.process, control)
	go func() {
		<-r.process.child.exited
		time.AfterFunc(lastRead, func() { r.process.control.Close() })
	}()
	send := func(m rankMessage) {
		select {
		case g.messages <- m:
		case <-g.worker.over:
		}
	}
	for m := range control {
		send(rankMessage{from: r, message: m})
	}
	<-r.process.child.exited
	send(rankMessage{from: r, exited: true})
}

// heard returns the channel of messages, which is nil for a worker of one process.
func (g *rankGroup) heard() <-chan rankMessage {
	if g == nil {
		return nil
	}
	return g.messages
}

func (g *rankGroup) all() []*process {
	all := []*process{g.process}
	for _, r := range g.others {
		all = append(all, r.process)
	}
	return all
}

// handleRank handles a message of another rank, or its end.
func (w *worker) handleRank(m rankMessage) {
	g, r := w.group, m.from
	switch {
	case m.exited:
		if !g.leaving && !w.terminated && g.died == nil && r.process.child.exit.Killed == "" {
			if g.died = r; r.loaded && w.activity == duringStart {
				w.activity = duringSetup // rank 0 is slower
			}
			w.terminate(CauseLeft, fmt.Sprintf("rank %d has ended", r.number))
		}
	case w.terminated:
	case errors.Is(m.err, ipc.ErrClosed):
		r.process.Closed()
	case m.err != nil:
		w.terminate(CauseProtocol, fmt.Sprintf("rank %d: %v", r.number, m.err))
	default:
		if err := w.takeRank(r, m.message); err != nil {
			w.terminate(CauseProtocol, fmt.Sprintf("rank %d: %v", r.number, err))
		}
	}
}

func (w *worker) takeRank(r *rank, m message) error {
	switch m.kind {
	case ipc.KindHello:
		r.hello = true
	case ipc.KindLoaded:
		r.loaded = true
	case ipc.KindLogMark:
		at, err := ipc.ParseLogMark(m.body)
		r.process.TakeLogs("", at)
		return err
	case ipc.KindReady:
		ready, err := ipc.ParseReady(m.body)
		if err != nil || r.ready {
			return errors.Join(err, ipc.ErrProtocol)
		}
		r.process.TakeLogs("", ready.LogMark)
		r.ready = true
		if w.group.ready != nil {
			return w.ready(w.group.ready)
		}
	case ipc.KindSetupFailed:
		failed, err := ipc.ParseSetupFailed(m.body)
		if err == nil {
			w.rankSetupFailed(r.number, r.process, failed)
		}
		return err
	case ipc.KindPong:
		r.pings.unanswered = 0
	case ipc.KindStack, ipc.KindStacks:
		return r.process.stacks.take(m)
	}
	return nil
}

// awaits names the ranks that are not ready.
func (g *rankGroup) awaits() string {
	var names []string
	if g.ready == nil {
		names = append(names, "rank 0")
	}
	for _, r := range g.others {
		if !r.ready {
			names = append(names, fmt.Sprintf("rank %d", r.number))
		}
	}
	return strings.Join(names, ", ")
}

// rankSetupFailed ends the group: its setup failed on one rank.
func (w *worker) rankSetupFailed(number int, p *process, failed ipc.SetupFailed) {
	w.setup.late, w.setup.stage = nil, Exited
	w.setup.failure, w.setup.problem = fmt.Sprintf("rank %d: %s", number, failed.Error), failed.Problem
	at := failed.LogMark
	w.process.logs.AddSetup(joined(p.logs.Take("", [sources]uint64{at.Stdout, at.Stderr, at.OwnStdout, at.OwnStderr})))
	if failed.Problem != nil {
		w.process.logs.AddSetup([]byte(failed.Problem.Text() + "\n"))
	}
	w.terminate(CauseSetupFailed, fmt.Sprintf("the setup of rank %d failed", number))
}

// endOthers ends the other ranks after rank 0, and waits for them.
func (g *rankGroup) endOthers() {
	if g == nil {
		return
	}
	for _, r := range g.others {
		select {
		case <-r.process.child.exited:
			// Rank 0 may have been seen first. It left by itself because of the other.
			if x := g.child.exit; !g.leaving && g.died == nil && x.Signal == 0 && r.process.child.exit.Killed == "" {
				g.died = r
			}
		default:
			if !g.leaving {
				r.process.terminate(CauseLeft, "rank 0 has ended")
			}
		}
	}
	began := time.Now()
	for _, r := range g.others {
		late := time.NewTimer(time.Until(began.Add(g.worker.sup.o.Timeouts.Stop + g.worker.sup.o.Timeouts.Kill)))
		select {
		case <-r.process.child.exited:
		case <-late.C:
			r.process.terminate(CauseLeft, "rank 0 has ended")
			r.process.giveUp(time.Since(began))
			r.process.child.killTree()
		}
		late.Stop()
	}
	close(g.worker.over)
	if g.relay != nil {
		g.relay.Close()
	}
}

// lastLogs sends the server's log what the other ranks have written last. It returns that of the rank that has died, which is
// about the predictions.
func (g *rankGroup) lastLogs() (text []byte) {
	if g == nil {
		return nil
	}
	for _, r := range g.others {
		last := r.process.logs.TakeAll()
		if r == g.died {
			text = last
		}
	}
	return text
}

// exit is how the worker's process ended; of a group, the rank that ended first.
func (w *worker) exit() *Exit {
	if w.group != nil && w.group.died != nil {
		return &w.group.died.process.child.exit
	}
	return &w.process.child.exit
}

// describe says how the worker ended, and which rank did.
func (w *worker) describe(during string) string {
	text := w.exit().Describe(during)
	switch g := w.group; {
	case g == nil || g.died == nil && (g.leaving || g.child.exit.Killed != ""):
		return text
	case g.died == nil:
		return "rank 0 died: " + text
	default:
		return fmt.Sprintf("rank %d died: %s", g.died.number, text)
	}
}

// serveGroup makes the channels of the group's one slot, and starts the relay between them. It returns the front's end.
func (w *worker) serveGroup() ([]*ipc.Conn, error) {
	g := w.group
	front, theirs, err := ipc.Pair("group", 1)
	if err != nil {
		return nil, fmt.Errorf("make a group's channel: %w", err)
	}
	defer theirs.Close()
	fd, err := dup(theirs)
	if err != nil {
		front.Close()
		return nil, err
	}
	end, err := ipc.NewConn(fd, "relay")
	if err != nil {
		unix.Close(fd)
		front.Close()
		return nil, err
	}
	front.ShareBodies()
	o := ranks.Options{
		Front: end, Words: g.page.Slot(groupSlot), Late: func(why string) { go g.doom(CauseProtocol, why) },
		Grace: w.sup.o.Pool.CancelGrace(), Stepless: g.noteStepless,
	}
	for _, p := range g.all() {
		conn, err := p.passSlot(0, 1)
		if err != nil {
			for _, m := range o.Ranks {
				m.Conn.Close()
			}
			end.Close()
			front.Close()
			return nil, err
		}
		o.Ranks = append(o.Ranks, ranks.Member{
			Conn: conn, Words: p.page.Slot(0), Took: p.tookOfRank,
			Lost: func(err error) { g.lost(p, err) },
		})
	}
	g.relay = ranks.New(o)
	return []*ipc.Conn{front}, nil
}

// noteStepless warns, once, of a model that no cancel can stop. Any goroutine.
func (g *rankGroup) noteStepless(took time.Duration) {
	g.stepless.Do(func() {
		s := g.worker.sup
		s.o.Logger.Warn("a prediction came to no step, so a cancel would have replaced all ranks: yield, or call cog.checkpoint "+
			"in its loop", "worker", s.o.Index, "took", took.Round(time.Millisecond).String())
	})
}

// groupSlot is the slot of rank 0's page that the relay and the front use.
const groupSlot = 1

// lost ends the group, because nothing can be read from a rank any more. Any goroutine.
func (g *rankGroup) lost(p *process, err error) {
	if errors.Is(err, ipc.ErrProtocol) {
		p.terminate(CauseProtocol, err.Error())
		return
	}
	p.Closed()
}

// tookOfRank handles a frame about the logs of a rank that is not 0: they go to the server's log. Any goroutine.
func (p *process) tookOfRank(f *ipc.Frame) error {
	switch f.Kind {
	case ipc.KindLogMark:
		at, err := ipc.ParseLogMark(f.Body)
		p.TakeLogs(p.runs(), at)
		return err
	case ipc.KindLog:
		text, err := ipc.ParseLog(f.Body)
		if err == nil {
			p.Logged(p.runs(), text)
		}
		return err
	case ipc.KindLogRecord:
		return p.LogRecord(f)
	case ipc.KindLogPipe:
		p.LogPipe(f.Descriptor(), f.Nanos != 0)
	case ipc.KindLogPipesEnd:
		p.LogPipesEnd()
	default:
		return fmt.Errorf("%w: a frame of kind %s of a rank", ipc.ErrProtocol, f.Kind)
	}
	return nil
}

// pingRanks pings the other ranks, and ends the group if one of them is stopped or stuck.
func (g *rankGroup) pingRanks(limit string) {
	for _, r := range g.others {
		if r.pings.unanswered >= hangPings {
			go g.doom(CauseHung, fmt.Sprintf("rank %d: "+unanswered, r.number, limit))
			return
		}
		if r.hello {
			r.pings.unanswered++
			r.pings.serial++
			_ = r.process.control.Send(ipc.KindPing, r.pings.serial) // fails only if it has ended
		}
	}
	if g.relay == nil {
		return
	}
	number, id := g.relay.Untaken()
	if g.misses++; id == 0 || id != g.untaken {
		g.untaken, g.misses = id, 0
	}
	if g.misses > hangPings {
		go g.doom(CauseHung, fmt.Sprintf("rank %d has not taken a prediction for %s: it no longer reads its channel "+
			"(--hang-timeout is the limit)", number, limit))
	}
}

// doomTimeout is how long the ranks may take to say what they do before they are ended.
const doomTimeout = time.Second

// doom logs what the ranks do, and ends them. Any goroutine but the worker's.
func (g *rankGroup) doom(cause ExitCause, why string) {
	g.dooming.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), doomTimeout)
		defer cancel()
		if stacks, err := g.Stack(ctx, 0); err == nil {
			g.worker.sup.o.Logger.Warn("what the ranks do", "worker", g.worker.sup.o.Index, "cause", why, "stacks", stacks)
		}
		for _, p := range g.all() {
			p.terminate(cause, why)
		}
	})
}

// Interrupt, Kill, Stack and Closed are those of slot.Worker.
func (g *rankGroup) Interrupt() { g.relay.Cancel() }

func (g *rankGroup) Kill(fault slot.Fault, why string) {
	if fault == slot.FaultCancelTimeout {
		go g.doom(CauseCancelTimeout, why+": a rank may have come to no step (a yield, or cog.checkpoint)")
		return
	}
	for _, p := range g.all() {
		p.Kill(fault, why)
	}
}

// Parts returns what the ranks did for a traced call.
func (g *rankGroup) Parts(id uint64) []slot.RankPart { return g.relay.Parts(id) }

// Closed does nothing: the relay closes the slot's channel when the ranks have ended.
func (g *rankGroup) Closed() {}

// Stack returns the stacks of all ranks.
func (g *rankGroup) Stack(ctx context.Context, slot int) (string, error) {
	all := g.all()
	texts := make([]string, len(all))
	var asking sync.WaitGroup
	for i, p := range all {
		asking.Go(func() {
			text, err := p.Stack(ctx, slot)
			if err != nil {
				text = err.Error() + "\n"
			}
			texts[i] = fmt.Sprintf("Rank %d:\n%s", i, text)
		})
	}
	asking.Wait()
	return strings.Join(texts, "\n"), nil
}

// SingleRank returns the environment of a process that reads a model, which may want ranks. Nothing meets at its port.
func SingleRank(env []string) []string { return rankEnv(env, 0, 1, 29500, 0, "pinion") }

// rankEnv returns the environment of a rank, as torchrun makes it.
func rankEnv(env []string, rank, count, port, restarts int, id string) []string {
	set := func(name string, value any) { env = append(env, fmt.Sprintf("%s=%v", name, value)) }
	env = slices.Clone(env)
	set("RANK", rank)
	set("LOCAL_RANK", rank)
	set("WORLD_SIZE", count)
	set("LOCAL_WORLD_SIZE", count)
	set("MASTER_ADDR", "127.0.0.1")
	set("MASTER_PORT", port)
	set("GROUP_RANK", 0)
	set("GROUP_WORLD_SIZE", 1)
	set("ROLE_RANK", rank)
	set("ROLE_WORLD_SIZE", count)
	set("ROLE_NAME", "default")
	set("TORCHELASTIC_RUN_ID", id)
	set("TORCHELASTIC_RESTART_COUNT", restarts)
	set("TORCHELASTIC_MAX_RESTARTS", restarts)
	if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "OMP_NUM_THREADS=") }) {
		set("OMP_NUM_THREADS", 1)
	}
	return env
}

// runID names this server's runs in TORCHELASTIC_RUN_ID.
func (s *Supervisor) runID() string { return fmt.Sprintf("pinion-%d-%d", os.Getpid(), s.o.Index) }
