// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Journal keeps what the managers in this process log.
type Journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// StartJournal has all that is logged from now on kept, and written to stderr.
func StartJournal() *Journal {
	j := &Journal{}
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.MultiWriter(os.Stderr, j)))))
	return j
}

// Write implements io.Writer.
func (j *Journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

// String returns all of it.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Lines returns the lines that have all these words.
func (j *Journal) Lines(words ...string) []string {
	return slices.DeleteFunc(strings.Split(j.String(), "\n"), func(line string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}
