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
// connection sits on the port of a server that is being restarted. Suites run at
// the same time and would take it, too: each process has blocks of its own.
const (
	firstPort = 20000
	lastPort  = 32000
	blockSize = 50
)

// ownPorts are those that this process may still hand out. Whoever listens on the
// first port of a block owns the block, until he ends.
var ownPorts = struct {
	sync.Mutex
	next, end int
	owned     []net.Listener
}{}

// FreePort returns a loopback port that nothing listens on and that neither this
// process nor another of the framework's has returned before. A stranger may
// still take it first: start servers with a retry.
func FreePort() (int, error) {
	ownPorts.Lock()
	defer ownPorts.Unlock()
	for {
		for ownPorts.next < ownPorts.end {
			ownPorts.next++
			if free(ownPorts.next - 1) {
				return ownPorts.next - 1, nil
			}
		}
		if err := ownBlock(); err != nil {
			return 0, err
		}
	}
}

func ownBlock() error {
	for _, i := range rand.Perm((lastPort - firstPort) / blockSize) {
		first := firstPort + i*blockSize
		owned, err := net.Listen("tcp", hostPort(first))
		if err == nil {
			ownPorts.owned = append(ownPorts.owned, owned) // else it would be closed one day
			ownPorts.next, ownPorts.end = first+1, first+blockSize
			return nil
		}
	}
	return fmt.Errorf("finding a free port between %d and %d: all are taken", firstPort, lastPort)
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
