// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"container/list"
	"net"
	"sync"
)

// crowd bounds the open connections of a listener. Where there is no room for a new one, it closes the one that has made the
// server wait longest: one that has not sent a request yet, else one that is idle or sends a body. So slow and idle clients keep
// nobody out. A connection whose request is being answered is never closed for another: if all are, the new one waits.
type crowd struct {
	net.Listener

	limit int

	mu   sync.Mutex
	room *sync.Cond
	open int
	// fresh are the connections that have not sent a request yet, which with a client CA includes all that have shown no
	// certificate; slow are the others that the server waits for. Each has the longest awaited first.
	fresh, slow *list.List
}

func newCrowd(listener net.Listener, limit int) *crowd {
	c := &crowd{Listener: listener, limit: limit, fresh: list.New(), slow: list.New()}
	c.room = sync.NewCond(&c.mu)
	return c
}

// visitor is one open connection.
type visitor struct {
	net.Conn

	crowd *crowd
	// queue is fresh or slow, and nil while the connection's request is being answered, and once it is closed.
	queue *list.List
	place *list.Element
	// gone is closed with the connection.
	gone   chan struct{}
	closed bool
}

// Accept waits for a connection, and then for room for it.
func (c *crowd) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.open >= c.limit {
		if longest := c.longest(); longest != nil {
			longest.leave()
			_ = longest.Conn.Close()
			continue
		}
		c.room.Wait()
	}
	v := &visitor{Conn: conn, crowd: c, gone: make(chan struct{})}
	c.open++
	v.enqueue(c.fresh)
	return v, nil
}

// longest returns whom the server has waited for longest; nil if it waits for nobody.
func (c *crowd) longest() *visitor {
	for _, queue := range []*list.List{c.fresh, c.slow} {
		if first := queue.Front(); first != nil {
			v, _ := first.Value.(*visitor)
			return v
		}
	}
	return nil
}

// awaited says that the server waits for the visitor, from now on.
func (v *visitor) awaited() {
	v.crowd.mu.Lock()
	defer v.crowd.mu.Unlock()
	if !v.closed {
		v.enqueue(v.crowd.slow)
		v.crowd.room.Signal()
	}
}

// arrived says that the visitor's request has, and that the visitor waits for the server from now on.
func (v *visitor) arrived() {
	v.crowd.mu.Lock()
	defer v.crowd.mu.Unlock()
	v.dequeue()
}

// Close closes the connection and makes room for another.
func (v *visitor) Close() error {
	v.crowd.mu.Lock()
	v.leave()
	v.crowd.mu.Unlock()
	return v.Conn.Close()
}

func (v *visitor) leave() {
	if v.closed {
		return
	}
	v.closed = true
	close(v.gone)
	v.dequeue()
	v.crowd.open--
	v.crowd.room.Signal()
}

func (v *visitor) enqueue(queue *list.List) {
	v.dequeue()
	v.queue, v.place = queue, queue.PushBack(v)
}

func (v *visitor) dequeue() {
	if v.queue != nil {
		v.queue.Remove(v.place)
	}
	v.queue, v.place = nil, nil
}
