package main

import (
	"debug/elf"
	"fmt"
	"strconv"
	"strings"
)

// checkGlibc refuses a program that needs a newer GNU C library than the floor. A program says in its header from which
// version of the library each symbol comes.
func checkGlibc(program, floor string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("read program: %w", err)
	}
	defer file.Close()
	needs, err := file.DynamicVersionNeeds()
	if err != nil {
		return fmt.Errorf("read needed versions: %w", err)
	}
	for _, library := range needs {
		for _, need := range library.Needs {
			if v, ok := strings.CutPrefix(need.Dep, "GLIBC_"); ok && newer(v, floor) {
				return fmt.Errorf("%s needs glibc %s (%s), newer than %s", program, v, library.Name, floor)
			}
		}
	}
	return nil
}

// newer compares versions such as "2.28" and "2.2.5". A part that is not a number, as in GLIBC_PRIVATE, is newer than
// any.
func newer(a, b string) bool {
	left, right := strings.Split(a, "."), strings.Split(b, ".")
	for i := range left {
		x, err := strconv.Atoi(left[i])
		if err != nil {
			return true
		}
		y := 0
		if i < len(right) {
			if y, err = strconv.Atoi(right[i]); err != nil {
				return true
			}
		}
		if x != y {
			return x > y
		}
	}
	return false
}
