// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
)

func TestNotesAreCutToWhatAnEventTakes(t *testing.T) {
	t.Parallel()
	fake := events.NewFakeRecorder(2)
	r := recorder{fake, nil}
	r.Eventf(&corev1.Namespace{}, nil, corev1.EventTypeNormal, "Reason", "Action", "%s", strings.Repeat("ü", 2000))
	r.Eventf(&corev1.Namespace{}, nil, corev1.EventTypeNormal, "Reason", "Action", "%s", "short")
	const before = "Normal Reason "
	if note := strings.TrimPrefix(<-fake.Events, before); len(note) > maxNote || !utf8.ValidString(note) {
		t.Errorf("a note of %d bytes", len(note))
	}
	if note := strings.TrimPrefix(<-fake.Events, before); note != "short" {
		t.Errorf("noted %s", note)
	}
}
