// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"errors"
	"testing"
)

func TestTheCertificateIsWaitedFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{})
	s := New(Options{Host: "127.0.0.1", CertDir: t.TempDir(), Ready: func(ctx context.Context) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}})
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	<-waiting
	if s.StartedChecker()(nil) == nil {
		t.Error("it serves without a certificate")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("a manager that stops while it waits: %v", err)
	}
}

func TestAFailedWaitAndAMissingCertificateEndTheServer(t *testing.T) {
	t.Parallel()
	failed := errors.New("no Secret")
	s := New(Options{Host: "127.0.0.1", CertDir: t.TempDir(), Ready: func(context.Context) error { return failed }})
	if err := s.Start(t.Context()); !errors.Is(err, failed) {
		t.Errorf("Start = %v", err)
	}
	if err := New(Options{Host: "127.0.0.1", CertDir: t.TempDir()}).Start(t.Context()); err == nil {
		t.Error("it serves without a certificate")
	}
}
