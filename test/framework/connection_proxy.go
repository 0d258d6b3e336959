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

// ConnectionProxy is a TCP connection's way from clients to a server, which can be cut.
// TLS goes through it untouched. Its methods may be called concurrently.
type ConnectionProxy struct {
	listener net.Listener
	// dial makes the far side of a connection.
	dial func() (net.Conn, error)

	mu   sync.Mutex
	down bool
	open map[net.Conn]bool
	cut  int
}

// NewConnectionProxy listens on a loopback port and passes what comes there on to the
// target's host and port, until it is closed.
func NewConnectionProxy(target string) (*ConnectionProxy, error) {
	return newConnectionProxy(func() (net.Conn, error) { return net.Dial("tcp", target) })
}

// NewConnectionProxy opens a proxy to the API server, and returns the configuration of a
// client that goes over it: that of cfg otherwise.
func (cp *ControlPlane) NewConnectionProxy(cfg *rest.Config) (*ConnectionProxy, *rest.Config, error) {
	proxy, err := NewConnectionProxy(hostPort(cp.apiPort))
	if err != nil {
		return nil, nil, err
	}
	via := rest.CopyConfig(cfg)
	via.Host = "https://" + proxy.Address()
	return proxy, via, nil
}

func newConnectionProxy(dial func() (net.Conn, error)) (*ConnectionProxy, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", hostPort(port))
	if err != nil {
		return nil, fmt.Errorf("opening a proxy: %w", err)
	}
	l := &ConnectionProxy{listener: listener, dial: dial, open: map[net.Conn]bool{}}
	go l.serve()
	return l, nil
}

// Address returns the host and port where the proxy begins.
func (l *ConnectionProxy) Address() string { return l.listener.Addr().String() }

// Cut ends all connections; new ones may be made at once.
func (l *ConnectionProxy) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut += len(l.open) / 2
	for conn := range l.open {
		_ = conn.Close()
	}
	clear(l.open)
}

// Down ends all connections and lets none be made until Up.
func (l *ConnectionProxy) Down() {
	l.mu.Lock()
	l.down = true
	l.mu.Unlock()
	l.Cut()
}

// Up ends Down.
func (l *ConnectionProxy) Up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// Broken returns how many connections were cut.
func (l *ConnectionProxy) Broken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

// Close closes the proxy for good.
func (l *ConnectionProxy) Close() error {
	l.Down()
	return l.listener.Close()
}

func (l *ConnectionProxy) serve() {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.pass(near)
	}
}

func (l *ConnectionProxy) pass(near net.Conn) {
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

func (l *ConnectionProxy) enter(conns ...net.Conn) bool {
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

func (l *ConnectionProxy) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		delete(l.open, conn)
	}
}
