// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"encoding/json"
	"sync"

	"github.com/go-logr/logr/funcr"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Trail has what the audit lines of one message say in one field, by record. A process has one log: all tests of a package share its trail.
type Trail struct {
	message, field string

	mu   sync.Mutex
	said map[string][]string
}

// NewTrail follows the process's log from now on.
func NewTrail(message, field string) *Trail {
	t := &Trail{message: message, field: field, said: map[string][]string{}}
	logf.SetLogger(funcr.NewJSON(t.add, funcr.Options{}))
	return t
}

func (t *Trail) add(text string) {
	var line map[string]any
	if err := json.Unmarshal([]byte(text), &line); err != nil || line["msg"] != t.message {
		return
	}
	record, _ := line["allocation"].(string)
	said, _ := line[t.field].(string)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.said[record] = append(t.said[record], said)
}

// Of takes what was said of a record, as namespace/name.
func (t *Trail) Of(record string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := t.said[record]
	delete(t.said, record)
	return said
}
