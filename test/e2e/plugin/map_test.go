// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

func mapSpecs() {
	// Before all objects, so that none is older on one run than on another.
	early := func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }
	DescribeTable("shows what addresses are in use for", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, stdout, stderr := runAt(ctx, early, user, append([]string{"map"}, args...)...)
		Expect(got).To(Equal(code), "%s", stderr)
		shows(name, stdout+stderr)
	},
		Entry("to an administrator", "", "map-admin.json", plugin.ExitOK, "-o", "json"),
		Entry("to a viewer who names the namespace, without a guess at the rest", vera, "map-viewer.json", plugin.ExitOK, "-n", red, "-o", "json"),
		Entry("to a viewer of another namespace, with what is missing", vera, "map-viewer-of-another.yaml", plugin.ExitForbidden, "-o", "yaml"),
		Entry("not live, without rights", nobody, "map-nobody.txt", plugin.ExitForbidden),
	)

	It("writes a page for the user alone", func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "map.html")
		code, stdout, stderr := runAt(ctx, early, "", "map", "--output="+path)
		Expect(code).To(Equal(plugin.ExitOK), stderr)
		Expect(stdout).To(BeEmpty())
		Expect(stderr).To(MatchRegexp("Wrote 8 pools and [0-9]+ records to " + path))
		page, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(page)).To(HavePrefix("<!DOCTYPE html>"))
		Expect(string(page)).To(ContainSubstring(`"title":"IPPool team-red/nodes"`))
		info, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
		_, stdout, _ = runAt(ctx, early, "", "map", "-o", "-")
		Expect(stdout).To(HaveLen(len(page)))
	})

	It("serves a page that follows what changes, also after the API server was away", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) {
			lab := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: "lab"}}
			await(ctx, lab, func() bool { return ptr.Deref(lab.Status.Claims, 0) == 2 })
		})
		proxy := proxied()
		url := liveMap(ctx, "--server=https://"+proxy.Address())
		events := get(ctx, url+"events")
		DeferCleanup(events.Close)
		told := bufio.NewScanner(events)
		shows := func(name string) func() bool {
			return func() bool {
				model := get(ctx, url+"model")
				defer model.Close()
				text, err := io.ReadAll(model)
				Expect(err).NotTo(HaveOccurred())
				return strings.Contains(string(text), `"`+name+`"`)
			}
		}
		Expect(shows("bench-2")()).To(BeTrue())
		Expect(shows("seen-live")()).To(BeFalse())
		claimed(ctx, "seen-live")
		awaitNews(told, shows("seen-live"))

		proxy.Down()
		awaitNews(told, func() bool { return strings.Contains(told.Text(), "trouble") })
		claimed(ctx, "made-meanwhile")
		proxy.Up()
		awaitNews(told, shows("made-meanwhile"))
	}, SpecTimeout(2*time.Minute))
}

// proxied is a way to the API server that a spec can cut.
func proxied() *framework.ConnectionProxy {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", site.KubeconfigPath())
	Expect(err).NotTo(HaveOccurred())
	proxy, err := framework.NewConnectionProxy(strings.TrimPrefix(config.Host, "https://"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return proxy
}

// liveMap runs the command until the spec ends, and returns the address of the page.
func liveMap(ctx context.Context, args ...string) string {
	GinkgoHelper()
	running, stop := context.WithCancel(ctx)
	read, written := io.Pipe()
	code := make(chan int, 1)
	cache := filepath.Join(GinkgoT().TempDir(), "cache")
	go func() {
		code <- plugin.Run(running, plugin.Config{
			Stdin: &bytes.Buffer{}, Stdout: written, Stderr: GinkgoWriter, Now: time.Now, Version: "test",
		}, append(args, "map", "--kubeconfig="+site.KubeconfigPath(), "--cache-dir="+cache)...)
		_ = written.Close() // it never errs
	}()
	DeferCleanup(func(ctx SpecContext) {
		stop()
		Eventually(ctx, code).Within(time.Minute).Should(Receive(Equal(plugin.ExitOK)))
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	Expect(line).To(MatchRegexp(`^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/\n$`))
	return strings.TrimSpace(line)
}

func get(ctx context.Context, url string) io.ReadCloser {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	return response.Body
}

// claimed makes a claim, and takes it away when the spec ends.
func claimed(ctx context.Context, name string) {
	GinkgoHelper()
	claim := builder.IPClaim(blue, name).From(ipamv1.IPPoolKind, "lab").Build()
	Expect(k.Create(ctx, claim)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { suite.Gone(ctx, k, deleted(ctx, claim)) })
}

// awaitNews waits for an event after which something is so.
func awaitNews(told *bufio.Scanner, isSo func() bool) {
	GinkgoHelper()
	for told.Scan() {
		if strings.HasPrefix(told.Text(), "data:") && isSo() {
			return
		}
	}
	Fail("the events ended: " + fmt.Sprint(told.Err()))
}
