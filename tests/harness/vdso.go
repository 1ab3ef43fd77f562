package harness

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
)

// vdso is the code that the kernel gives each process to read the clock with. It is a private mapping, which a tracer
// of the process can write; written pages become the process's own. The other code goes to the unused end of the last
// page, and the functions begin with a jump there.
type vdso struct {
	entries [3]uint64 // of the functions, in the order of clockCode
	room    uint64    // where the other code goes
	changed bool      // it is there
}

// roomSize is how many bytes are needed at the end; the word with the seconds comes first.
const roomSize = 128

// jumpSize is how long a jump is.
const jumpSize = 5

// clockNames are the functions that return the time of day.
var clockNames = [3]string{"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time"}

// clockCode does the same by a system call, and adds the seconds. 0, 0, 0, 0 is replaced by the offset of the word with
// the seconds.
var clockCode = [3][]byte{
	{ // clock_gettime(edi, rsi)
		0xb8, 228, 0, 0, 0, 0x0f, 0x05, // mov eax, 228; syscall
		0x85, 0xc0, 0x75, 19, //          test eax, eax; jne to ret
		0x85, 0xff, 0x74, 5, //           test edi, edi; je over the next two: CLOCK_REALTIME
		0x83, 0xff, 5, 0x75, 10, //       cmp edi, 5; jne to ret: all but CLOCK_REALTIME_COARSE
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, //  mov rcx, [the seconds]
		0x48, 0x01, 0x0e, //              add [rsi], rcx
		0xc3, //                          ret
	},
	{ // gettimeofday(rdi, rsi)
		0xb8, 96, 0, 0, 0, 0x0f, 0x05, // mov eax, 96; syscall
		0x85, 0xc0, 0x75, 15, //          test eax, eax; jne to ret
		0x48, 0x85, 0xff, 0x74, 10, //    test rdi, rdi; je to ret
		0x48, 0x8b, 0x0d, 0, 0, 0, 0, //  mov rcx, [the seconds]
		0x48, 0x01, 0x0f, //              add [rdi], rcx
		0xc3, //                          ret
	},
	{ // time(rdi)
		0xb8, 201, 0, 0, 0, 0x0f, 0x05, // mov eax, 201; syscall
		0x48, 0x03, 0x05, 0, 0, 0, 0, //   add rax, [the seconds]
		0x48, 0x85, 0xff, 0x74, 3, //      test rdi, rdi; je to ret
		0x48, 0x89, 0x07, //               mov [rdi], rax
		0xc3, //                           ret
	},
}

// findVDSO looks for it in a process.
func findVDSO(pid int, memory io.ReaderAt) (*vdso, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil, err
	}
	var from, to uint64
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return nil, err
			}
		}
	}
	if from == 0 {
		return nil, fmt.Errorf("%w: there is no vDSO", ErrNoClock)
	}
	image := make([]byte, to-from)
	if _, err := memory.ReadAt(image, int64(from)); err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("read the vDSO: %w", err)
	}
	v := &vdso{room: to - roomSize}
	for i, name := range clockNames {
		for _, symbol := range symbols {
			if symbol.Name == name {
				v.entries[i] = from + symbol.Value
			}
		}
		if v.entries[i] == 0 {
			return nil, fmt.Errorf("%w: the vDSO has no %s", ErrNoClock, name)
		}
	}
	code, _ := v.code()
	switch end := image[len(image)-roomSize+8:]; {
	case bytes.Equal(end, code[8:]):
		v.changed = true
	case !bytes.Equal(end, make([]byte, len(end))):
		return nil, fmt.Errorf("%w: the vDSO has no room for more", ErrNoClock)
	}
	return v, nil
}

// code returns the code for the end, with 0 seconds, and where in it each function begins.
func (v *vdso) code() (text []byte, starts [3]uint64) {
	text = make([]byte, 8, roomSize)
	for i, function := range clockCode {
		starts[i] = v.room + uint64(len(text))
		hole := bytes.LastIndex(function, make([]byte, 4))
		text = append(text, function...)
		after := len(text) - len(function) + hole + 4 // it counts from the next instruction
		binary.LittleEndian.PutUint32(text[after-4:], uint32(-after))
	}
	return text[:roomSize], starts
}

// within reports whether the code at an address will be overwritten.
func (v *vdso) within(at uint64) bool {
	for _, entry := range v.entries {
		if entry < at && at < entry+jumpSize {
			return true
		}
	}
	return false
}

// write writes the code, while all threads are stopped.
func (v *vdso) write(memory io.WriterAt) error {
	text, starts := v.code()
	if _, err := memory.WriteAt(text, int64(v.room)); err != nil {
		return err
	}
	for i, entry := range v.entries {
		jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(starts[i]-(entry+jumpSize)))
		if _, err := memory.WriteAt(jump, int64(entry)); err != nil {
			return err
		}
	}
	return nil
}

// set writes the seconds: one word, which others may read meanwhile.
func (v *vdso) set(memory io.WriterAt, seconds int64) error {
	_, err := memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(seconds)), int64(v.room))
	return err
}
