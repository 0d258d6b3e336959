// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func TestLinkIsCut(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hangs" {
			arrived <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	proxy, err := framework.NewConnectionProxy(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // nothing is tried again
	get := func(path string) error {
		resp, err := client.Get("http://" + proxy.Address() + path)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := get("/"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- get("/hangs") }()
	<-arrived
	proxy.Cut()
	if <-done == nil {
		t.Error("a request outlived the cut")
	}
	if err := get("/"); err != nil {
		t.Errorf("after the cut: %v", err)
	}
	proxy.Down()
	if get("/") == nil {
		t.Error("a request came through while the proxy was down")
	}
	proxy.Up()
	if err := get("/"); err != nil {
		t.Errorf("up again: %v", err)
	}
	if proxy.Broken() == 0 {
		t.Error("no connection was counted as cut")
	}
}
