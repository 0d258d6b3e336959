// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// sendTime is how long a client may take for the handshake, and then for the body of each request. The API server gives up a
	// call after ten seconds by default: what comes later nobody waits for.
	sendTime = 10 * time.Second
	// writeTime is how long answering a request and sending the answer may take together. A webhook takes six seconds at most.
	writeTime = 30 * time.Second
	// idleTime is how long a connection may wait for its next header, and for its first: the API server opens connections for
	// requests that another one then takes, and keeps them. It is longer than the 90 seconds after which the API server itself
	// closes an idle connection: so it never sends a request into one that is just being closed here.
	idleTime = 2 * time.Minute
	// drainTime is for how long requests may go on being answered while the manager ends.
	drainTime = time.Minute
	// maxHeader is in bytes. The API server's headers have some hundred.
	maxHeader = 16 << 10
	// maxConnections are enough for four API servers that do all they do at once by default, 200 writes each, with all of it
	// here, and for the 25 connections that each keeps idle for either kind of webhook.
	maxConnections = 1024
)

// Options of a Server.
type Options struct {
	// Host and Port are what it listens on; an empty host means all addresses.
	Host string
	Port int
	// CertDir has its certificate, tls.crt, and its key, tls.key, which are read again when they change.
	CertDir string
	// TLS changes the TLS configuration.
	TLS []func(*tls.Config)
	// Ready waits until the certificate is in CertDir, or ctx ends; nil means that it must be there at once.
	Ready func(ctx context.Context) error
	// Clients are who may call; nil means everybody who can connect.
	Clients *Clients
}

// Server serves webhooks. Use New.
type Server struct {
	// Server registers webhooks. It is never started.
	webhook.Server

	options     Options
	mux         *http.ServeMux
	limits      limits
	connections int
	// idle is idleTime, but in tests.
	idle    time.Duration
	serving atomic.Bool
}

var _ webhook.Server = &Server{}

// New returns a server without webhooks.
func New(o Options) *Server {
	mux := http.NewServeMux()
	return &Server{
		Server: webhook.NewServer(webhook.Options{WebhookMux: mux}), options: o, mux: mux, limits: newLimits(),
		connections: maxConnections, idle: idleTime,
	}
}

// Start serves until ctx ends and all requests are answered.
func (s *Server) Start(ctx context.Context) error {
	logger := ctrl.LoggerFrom(ctx).WithName("webhooks")
	if s.options.Ready != nil {
		err := s.options.Ready(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the manager stops
		}
		if err != nil {
			return fmt.Errorf("waiting for the certificate of the webhooks: %w", err)
		}
	}
	config, err := s.config(ctx, logger)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(s.options.Host, strconv.Itoa(s.options.Port))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	logger.Info("Serving webhooks", "address", address, "clientCertificates", s.options.Clients != nil)
	server := s.server(ctx, config, logger)
	drained := make(chan error, 1)
	go func() {
		<-ctx.Done()
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		drained <- server.Shutdown(draining)
	}()
	s.serving.Store(true)
	if err := server.ServeTLS(newCrowd(listener, s.connections), "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving webhooks: %w", err)
	}
	return <-drained
}

func (s *Server) server(ctx context.Context, config *tls.Config, logger logr.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true) // as the API server does: many requests on one connection would pass the bound by
	return &http.Server{
		Handler: s.limits.around(s.admit(s.mux)), TLSConfig: config, Protocols: protocols,
		// The shortest of these bounds the handshake. Each request has deadlines of its own, from its header on.
		ReadHeaderTimeout: s.idle, WriteTimeout: s.limits.send, IdleTimeout: s.idle, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, visitorKey{}, visitorOf(conn))
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			if state == http.StateActive || state == http.StateIdle {
				visitorOf(conn).awaited()
			}
		},
		ErrorLog: log.New(&complaints{log: logger, limit: flowcontrol.NewTokenBucketPassiveRateLimiter(0.1, 10)}, "", 0),
	}
}

// config returns the TLS configuration, and has what it was made of followed until ctx ends.
func (s *Server) config(ctx context.Context, logger logr.Logger) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	for _, change := range s.options.TLS {
		change(config)
	}
	WithoutCBC(config)
	certificate, err := certwatcher.New(filepath.Join(s.options.CertDir, "tls.crt"), filepath.Join(s.options.CertDir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the webhooks: %w", err)
	}
	config.GetCertificate = certificate.GetCertificate
	loaded.Store(&certificates{serving: certificate, clients: s.options.Clients})
	go func() {
		if err := certificate.Start(ctx); err != nil {
			logger.Error(err, "Following the certificate of the webhooks")
		}
	}()
	if s.options.Clients != nil {
		s.options.Clients.require(config)
		go s.options.Clients.follow(ctx)
	}
	return config, nil
}

// WithoutCBC leaves TLS 1.2 no cipher suites in CBC mode, unless the configuration names suites itself.
func WithoutCBC(config *tls.Config) {
	if len(config.CipherSuites) > 0 {
		return
	}
	for _, suite := range tls.CipherSuites() {
		if !strings.Contains(suite.Name, "_CBC_") {
			config.CipherSuites = append(config.CipherSuites, suite.ID)
		}
	}
}

// admit turns away a client whose certificate has ceased to be good since the handshake: it has expired, or the CA has changed.
func (s *Server) admit(next http.Handler) http.Handler {
	if s.options.Clients == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.options.Clients.verify(*r.TLS); err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// StartedChecker returns a check that succeeds once the server listens. It does not connect: it has no client's certificate, and
// whether there is room for a connection says nothing of the server.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.serving.Load() {
			return errors.New("the webhooks are not served yet")
		}
		return nil
	}
}

// visitorKey is the key of a request's connection in its context.
type visitorKey struct{}

// connectionOf returns the connection that a request came over.
func connectionOf(r *http.Request) *visitor {
	v, _ := r.Context().Value(visitorKey{}).(*visitor)
	return v
}

// visitorOf returns the connection that a TLS connection goes over.
func visitorOf(conn net.Conn) *visitor {
	secured, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	v, _ := secured.NetConn().(*visitor)
	return v
}

// complaints logs what the HTTP server says, of failed handshakes above all: some of it at the default verbosity, for whoever can
// connect can have it say more.
type complaints struct {
	log   logr.Logger
	limit flowcontrol.PassiveRateLimiter
}

// Write logs one message.
func (c *complaints) Write(message []byte) (int, error) {
	switch text := strings.TrimSpace(string(message)); {
	case strings.HasPrefix(text, "http: panic"):
		c.log.Error(errors.New(text), "Answering a request")
	case c.limit.TryAccept():
		c.log.Info("A connection failed", "reason", text)
	default:
		c.log.V(4).Info("A connection failed", "reason", text)
	}
	return len(message), nil
}
