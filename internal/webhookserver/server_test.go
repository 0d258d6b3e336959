// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestManyRequestsAtOnceOnOneConnectionAreNotSpoken(t *testing.T) {
	t.Parallel()
	s := serve(t, readAll, maxConnections, nil)
	for want, offered := range map[string][]string{"http/1.1": {"h2", "http/1.1"}, "": {"h2"}} {
		config := s.tls()
		config.NextProtos = offered
		conn, err := tls.Dial("tcp", s.address, config)
		if want == "" {
			if err == nil {
				t.Errorf("%v is spoken", offered)
			}
			continue
		}
		if err != nil || conn.ConnectionState().NegotiatedProtocol != want {
			t.Errorf("%v: %v", offered, err)
		}
	}
}

func TestSuitesInCBCModeAreNotSpoken(t *testing.T) {
	t.Parallel()
	s := serve(t, readAll, maxConnections, nil)
	for name, spoken := range map[string]bool{"_CBC_": false, "_GCM_": true} {
		config := s.tls()
		config.MaxVersion = tls.VersionTLS12
		for _, suite := range tls.CipherSuites() {
			if strings.Contains(suite.Name, name) {
				config.CipherSuites = append(config.CipherSuites, suite.ID)
			}
		}
		conn, err := tls.Dial("tcp", s.address, config)
		if (err == nil) != spoken {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	config := &tls.Config{CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA}}
	if WithoutCBC(config); len(config.CipherSuites) != 1 {
		t.Error("suites that the operator names do not stay")
	}
}

func TestABurstOfManyAPIServersIsServed(t *testing.T) {
	t.Parallel()
	// Fewer connections than maxConnections, even if the server sees none of them closed.
	const servers, clients, each = 6, 50, 3
	// Their handshakes, all at once, may take longer than sendTime on a busy machine.
	s := serveWith(t, readAll, nil, func(s *Server) { s.limits.send = patience })
	var done sync.WaitGroup
	for range servers {
		server := s.as(t)
		for range clients {
			done.Go(func() {
				for range each {
					s.answers(t, server)
				}
			})
		}
	}
	done.Wait()
}

func TestSlowAndSilentConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	const limit = 8
	for name, open := range map[string]func(*testing.T, *served) net.Conn{
		"no handshake": func(t *testing.T, s *served) net.Conn { t.Helper(); return s.connect(t) },
		"half a header": func(t *testing.T, s *served) net.Conn {
			t.Helper()
			return s.begin(t, "POST /hook HTTP/1.1\r\nHost: weir\r\n")
		},
		"half a body":  func(t *testing.T, s *served) net.Conn { t.Helper(); return s.begin(t, large(100)+"half") },
		"a large body": func(t *testing.T, s *served) net.Conn { t.Helper(); return s.begin(t, large(maxBody)+"half") },
		"an idle connection": func(t *testing.T, s *served) net.Conn {
			t.Helper()
			return s.begin(t, large(5)+"small")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, readAll, limit, nil)
			conns := make([]net.Conn, 0, 4*limit)
			for range cap(conns) {
				conns = append(conns, open(t, s))
				s.answers(t, s.as(t)) // a new connection each time
			}
			open := 0
			for _, conn := range conns {
				if !isClosed(conn) {
					open++
				}
			}
			if open > limit {
				t.Errorf("%d connections are open", open)
			}
			eventually(t, "the first to be closed", func() bool { return isClosed(conns[0]) })
		})
	}
}

func TestARequestIsAnsweredThatHasArrived(t *testing.T) {
	t.Parallel()
	const limit = 3
	var arrived sync.WaitGroup
	arrived.Add(limit)
	answer := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "slow" {
			arrived.Done()
			<-answer
		}
		readAll(w, r)
	}, limit, nil)
	var done sync.WaitGroup
	for range limit {
		done.Go(func() {
			if code, text, err := s.post(s.as(t), strings.NewReader("slow")); code != http.StatusOK {
				t.Errorf("%d %s %v", code, text, err)
			}
		})
	}
	arrived.Wait()
	silent := s.connect(t) // before the other: a later one would take its place
	waiting := make(chan struct{})
	go func() {
		defer close(waiting)
		s.answers(t, s.as(t))
	}()
	select {
	case <-waiting:
		t.Error("more connections are served than there may be")
	default:
	}
	close(answer)
	done.Wait()
	<-waiting
	_ = silent.Close()
}

func TestNobodyMayTakeForEver(t *testing.T) {
	t.Parallel()
	s := serveWith(t, readAll, nil, func(s *Server) { s.idle = sendTime })
	for name, conn := range map[string]net.Conn{
		"no handshake":  s.connect(t),
		"no header":     s.begin(t, ""),
		"half a header": s.begin(t, "POST /hook HTTP/1.1\r\nHost: weir\r\n"),
		"half a body":   s.begin(t, large(100)+"half"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eventually(t, "the connection to be closed", func() bool { return isClosed(conn) })
		})
	}
}

func TestAConnectionMayWaitForItsFirstRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, readAll, maxConnections, nil)
	conn := s.begin(t, "")
	time.Sleep(sendTime + time.Second)
	if _, err := io.WriteString(conn, large(5)+"small"); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("answers %s", answer.Status)
	}
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	whole := bytes.Repeat([]byte("x"), maxBody)

	t.Run("are read up to what can be stored", func(t *testing.T) {
		t.Parallel()
		s := serve(t, readAll, maxConnections, nil)
		for name, test := range map[string]struct {
			body io.Reader
			code int
		}{
			"the largest":                     {bytes.NewReader(whole), http.StatusOK},
			"a larger one":                    {io.LimitReader(bytes.NewReader(append(whole[:maxBody:maxBody], 'x')), maxBody+1), http.StatusBadRequest},
			"a larger one that says so":       {bytes.NewReader(append(whole[:maxBody:maxBody], 'x')), http.StatusRequestEntityTooLarge},
			"one that does not say how large": {io.MultiReader(bytes.NewReader(whole)), http.StatusOK},
		} {
			if code, text, err := s.post(s.as(t), test.body); code != test.code {
				t.Errorf("%s: %d %s %v", name, code, text, err)
			}
		}
	})

	t.Run("wait for each other, and small ones do not wait for them", func(t *testing.T) {
		t.Parallel()
		s := serve(t, readAll, maxConnections, nil)
		slow := make([]net.Conn, 0, largeBodies)
		for range cap(slow) {
			slow = append(slow, s.begin(t, large(maxBody)+"half"))
		}
		waiting := make(chan int, 1)
		go func() {
			code, _, _ := s.post(s.as(t), bytes.NewReader(whole))
			waiting <- code
		}()
		for range 20 {
			s.answers(t, s.as(t))
		}
		for _, conn := range slow {
			_ = conn.Close()
		}
		if code := <-waiting; code != http.StatusOK {
			t.Errorf("%d", code)
		}
	})

	t.Run("keep small ones waiting never, nor a place for a connection that is closed", func(t *testing.T) {
		t.Parallel()
		l := newLimits()
		l.clock = clocktesting.NewFakeClock(time.Now()) // which stands still
		for range largeBodies {
			l.places <- struct{}{}
		}
		v := &visitor{crowd: newCrowd(nil, 1), gone: make(chan struct{})}
		answer := func(size int) chan int {
			code := make(chan int, 1)
			go func() {
				r := httptest.NewRequestWithContext(context.WithValue(t.Context(), visitorKey{}, v), http.MethodPost, "/hook", bytes.NewReader(whole[:size]))
				w := httptest.NewRecorder()
				l.around(http.HandlerFunc(readAll)).ServeHTTP(w, r)
				code <- w.Code
			}()
			return code
		}
		within(t, answer(smallBody), http.StatusOK)
		waiting := answer(smallBody + 1)
		close(v.gone)
		within(t, waiting, http.StatusServiceUnavailable)
	})
}

// within waits for the code of an answer.
func within(t *testing.T, got <-chan int, want int) {
	t.Helper()
	select {
	case code := <-got:
		if code != want {
			t.Errorf("answers %d, not %d", code, want)
		}
	case <-time.After(patience):
		t.Errorf("waiting for %d", want)
	}
}
