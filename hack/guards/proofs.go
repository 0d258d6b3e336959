// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// proofs are why guards may be taken away, by what is guarded.
type proofs map[string]string

// key names a guard without its line: "FILE FUNCTION KIND `TEXT`".
func (g guard) key() string {
	return fmt.Sprintf("%s %s %s `%s`", g.file, g.function, g.kind, g.text)
}

// readProofs reads a file of proofs: a guard's key, and below it, indented, why it changes nothing. Lines that begin with # are comments.
func readProofs(file string) (proofs, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || file == "" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	p, key := proofs{}, ""
	for line := range strings.SplitSeq(string(text), "\n") {
		switch why := strings.TrimSpace(line); {
		case why == "", strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			key, p[line] = line, ""
		case key == "":
			return nil, fmt.Errorf("%s: %q proves something of no guard", file, why)
		default:
			p[key] = strings.TrimSpace(p[key] + " " + why)
		}
	}
	return p, nil
}

func (p proofs) of(g guard) string { return p[g.key()] }

// unused errs for what is proved of guards that the files do not have.
func (p proofs) unused(sources []*source) error {
	there := map[string]bool{}
	var errs []error
	for _, s := range sources {
		for _, g := range s.guards {
			there[g.key()] = true
		}
		for _, key := range slices.Sorted(maps.Keys(p)) {
			if strings.HasPrefix(key, s.file+" ") && !there[key] {
				errs = append(errs, fmt.Errorf("there is no guard %s", key))
			}
		}
	}
	return errors.Join(errs...)
}
