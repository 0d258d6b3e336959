// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// mebibyte is in bytes.
const mebibyte = 1 << 20

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peak returns the most memory that a manager has had so far, in MiB.
func peak(m *framework.Manager) int {
	GinkgoHelper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(m.PID()), "status"))
	Expect(err).NotTo(HaveOccurred())
	found := highWater.FindSubmatch(status)
	Expect(found).To(HaveLen(2))
	kilobytes, err := strconv.Atoi(string(found[1]))
	Expect(err).NotTo(HaveOccurred())
	return kilobytes / 1024
}

// sendSlowly sends a review of so many bytes but for the last one, as far as the manager reads it, and waits for what comes of it.
func sendSlowly(ctx context.Context, m *framework.Manager, size int) {
	conn, err := (&tls.Dialer{Config: anybody}).DialContext(ctx, "tcp", m.WebhookAddress())
	if err != nil {
		return // closed for another one
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", createClaim, size)
	chunk := make([]byte, 64<<10)
	for left := size - 1; left > 0 && err == nil; {
		var n int
		n, err = conn.Write(chunk[:min(left, len(chunk))])
		left -= n
	}
	_, _ = io.Copy(io.Discard, conn)
}

var _ = Describe("The port of the webhooks", func() {
	servePort()

	DescribeTable("100 slow bodies leave a manager under 200 MiB, and claims are answered meanwhile,", func(ctx SpecContext, of func() *framework.Manager, size int) {
		m := of()
		Expect(site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
		s := newSpec(ctx)
		pool := s.Root("pool", "10.0.0.0/24").Build()
		s.Create(ctx, pool)
		s.Ready(ctx, pool)
		before := peak(m)
		attack, end := context.WithCancel(ctx)
		defer end()
		var done sync.WaitGroup
		for range 100 {
			done.Go(func() { sendSlowly(attack, m, size) })
		}
		for i := range 20 {
			claim := s.Claim(fmt.Sprint("claim-", i), "pool").Build()
			s.Create(ctx, claim)
			s.Ready(ctx, claim)
		}
		done.Wait()
		AddReportEntry(fmt.Sprintf("peak memory: %d MiB, %d MiB before", peak(m), before))
		Expect(peak(m)).To(BeNumerically("<", 200), "it was %d MiB before", before)
	},
		Entry("of 7 MiB, which are too large", func() *framework.Manager { return open }, 7*mebibyte, SpecTimeout(5*time.Minute)),
		Entry("as large as they may be", func() *framework.Manager { return open }, 4*mebibyte, SpecTimeout(5*time.Minute)),
		suite.FromLong(
			Entry("as large as small ones may be", func() *framework.Manager { return open }, 32<<10, SpecTimeout(5*time.Minute)),
			Entry("with a client CA", func() *framework.Manager { return secured }, 4*mebibyte, SpecTimeout(5*time.Minute)),
		),
	)
})
