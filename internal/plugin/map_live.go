// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/atlas"
)

// headerTimeout bounds how long a program on this machine may take to send the headers of a request.
const headerTimeout = 10 * time.Second

// liveMap serves the map on a loopback address until the context ends.
func (o *options) liveMap(ctx context.Context) error {
	live, err := atlas.NewLive(ctx, liveSource{o}, waiting{o.now})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serving the map: %w", err)
	}
	server := &http.Server{Handler: live, ReadHeaderTimeout: headerTimeout}
	fmt.Fprintf(o.stdout, "http://%s%s\n", listener.Addr(), live.Path())
	fmt.Fprintln(o.stderr, "Open this address in a browser on this machine. It shows what you may see; interrupt the command to end it.")
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error {
		live.Run(serving)
		return server.Close()
	})
	group.Go(func() error {
		if err := server.Serve(listener); ctx.Err() == nil {
			return fmt.Errorf("serving the map: %w", err)
		}
		return nil
	})
	return group.Wait()
}

// liveSource draws maps with the user's rights.
type liveSource struct{ options *options }

// Draw implements atlas.Source.
func (s liveSource) Draw(ctx context.Context) (*atlas.Map, error) {
	drawn, isAllowed, err := s.options.drawMap(ctx)
	if err == nil && !isAllowed {
		err = errNoPools
	}
	return drawn, err
}

// Changes implements atlas.Source.
func (s liveSource) Changes(ctx context.Context, ready, changed func()) error {
	scope, err := s.options.scope()
	if err != nil {
		return err
	}
	reader, err := s.options.survey(scope)
	if err != nil {
		return err
	}
	return reader.Changes(ctx, ready, changed)
}

// waiting is a clock whose time is the plugin's.
type waiting struct{ now func() time.Time }

// Now implements atlas.Clock.
func (w waiting) Now() time.Time { return w.now() }

// Wait implements atlas.Clock.
func (waiting) Wait(ctx context.Context, long time.Duration) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
