// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func TestBalancerTakesTurnsAmongTheLiving(t *testing.T) {
	t.Parallel()
	servers, targets := make([]*httptest.Server, 3), make([]string, 3)
	for i, name := range []string{"a", "b", "c"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, name)
		}))
		t.Cleanup(server.Close)
		servers[i], targets[i] = server, strings.TrimPrefix(server.URL, "http://")
	}
	balancer, err := framework.NewBalancer(targets...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = balancer.Close() })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // a connection for each request
	answers := func(n int) string {
		var got strings.Builder
		for range n {
			resp, err := client.Get("http://" + balancer.Address())
			if err != nil {
				return err.Error()
			}
			_, _ = io.Copy(&got, resp.Body)
			resp.Body.Close()
		}
		return got.String()
	}
	if got := answers(6); got != "abcabc" {
		t.Errorf("three servers take turns: got %s", got)
	}
	servers[1].Close()
	if got := answers(6); got != "acacac" {
		t.Errorf("two servers take turns: got %s", got)
	}
	if served := balancer.Served(); served[targets[0]] != 5 || served[targets[1]] != 2 || served[targets[2]] != 5 {
		t.Errorf("they got %v connections", served)
	}
	servers[0].Close()
	servers[2].Close()
	if got := answers(1); !strings.HasPrefix(got, "Get ") { // an error; which one depends on when the client finds its connection closed
		t.Errorf("without a server: got %s", got)
	}
}
