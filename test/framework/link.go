// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"io"
	"net"
	"sync"

	"k8s.io/client-go/rest"
)

// Link is a TCP connection's way from clients to a server, which can be cut.
// TLS goes through it untouched. Its methods may be called concurrently.
type Link struct {
	listener net.Listener
	// dial makes the far side of a connection.
	dial func() (net.Conn, error)

	mu   sync.Mutex
	down bool
	open map[net.Conn]bool
	cut  int
}

// NewLink listens on a loopback port and passes what comes there on to the
// target's host and port, until it is closed.
func NewLink(target string) (*Link, error) {
	return newLink(func() (net.Conn, error) { return net.Dial("tcp", target) })
}

// NewLink opens a link to the API server, and returns the configuration of a
// client that goes over it: that of cfg otherwise.
func (cp *ControlPlane) NewLink(cfg *rest.Config) (*Link, *rest.Config, error) {
	link, err := NewLink(hostPort(cp.apiPort))
	if err != nil {
		return nil, nil, err
	}
	via := rest.CopyConfig(cfg)
	via.Host = "https://" + link.Address()
	return link, via, nil
}

func newLink(dial func() (net.Conn, error)) (*Link, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", hostPort(port))
	if err != nil {
		return nil, fmt.Errorf("opening a link: %w", err)
	}
	l := &Link{listener: listener, dial: dial, open: map[net.Conn]bool{}}
	go l.serve()
	return l, nil
}

// Address returns the host and port where the link begins.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Cut ends all connections; new ones may be made at once.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut += len(l.open) / 2
	for conn := range l.open {
		_ = conn.Close()
	}
	clear(l.open)
}

// Down ends all connections and lets none be made until Up.
func (l *Link) Down() {
	l.mu.Lock()
	l.down = true
	l.mu.Unlock()
	l.Cut()
}

// Up ends Down.
func (l *Link) Up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// Broken returns how many connections were cut.
func (l *Link) Broken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// Close closes the link for good.
func (l *Link) Close() error {
	l.Down()
	return l.listener.Close()
}

func (l *Link) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.pass(near)
	}
}

func (l *Link) pass(near net.Conn) {
	defer func() { _ = near.Close() }()
	far, err := l.dial()
	if err != nil {
		return
	}
	defer func() { _ = far.Close() }()
	if !l.enter(near, far) {
		return
	}
	defer l.leave(near, far)
	ended := make(chan struct{}, 2)
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		go func() {
			_, _ = io.Copy(to, from)
			ended <- struct{}{}
		}()
	}
	<-ended
}

func (l *Link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return false
	}
	for _, conn := range conns {
		l.open[conn] = true
	}
	return true
}

func (l *Link) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		delete(l.open, conn)
	}
}
