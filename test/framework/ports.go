// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are taken from below the kernel's ephemeral range, so that no outgoing
// connection sits on the port of a server that is being restarted.
const (
	firstPort = 20000
	lastPort  = 32000
)

var handedOut = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// FreePort returns a loopback port that nothing listens on and that this
// process has not returned before. Another process may still take it first:
// start servers with a retry.
func FreePort() (int, error) {
	handedOut.Lock()
	defer handedOut.Unlock()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		if handedOut.ports[port] || !free(port) {
			continue
		}
		handedOut.ports[port] = true
		return port, nil
	}
	return 0, fmt.Errorf("finding a free port between %d and %d: all tried are taken", firstPort, lastPort)
}

func free(port int) bool {
	l, err := net.Listen("tcp", hostPort(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func hostPort(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
