// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Names of what every cloud has, the fake one too.
const (
	// Admin, Member and Other are projects, each with a user of the same name, and entries of CloudsYAML.
	Admin  = "admin"
	Member = "member"
	Other  = "other"
	// Region is the only one.
	Region = "RegionOne"
	// Public is an external network with two subnets, Tiny one with three addresses.
	Public = "public"
	Tiny   = "tiny"
)

// Password returns the password of a user.
func Password(user string) string { return "secret-of-" + user }

// Options of a cloud.
type Options struct {
	// Detach lets the services outlive this process, if Stop is not called.
	Detach bool
}

// Cloud is a running Keystone and Neutron.
type Cloud struct {
	options           Options
	dir               string
	keystone, neutron *framework.Daemon
	keystoneURL       string
	neutronURL        string
	admin, member     *session
	// private is what Bind binds floating IPs to; made when it is needed.
	private string
}

// Start starts a cloud, with its projects, users and networks; it takes 10 to 40 seconds. Without the packages it fails and names
// the command that installs them. Its files are in a temporary folder of its own.
func Start(ctx context.Context) (*Cloud, error) { return StartWith(ctx, Options{}) }

// StartWith starts a cloud with options.
func StartWith(ctx context.Context, options Options) (*Cloud, error) {
	if err := Installed(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "weir-openstack-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for OpenStack: %w", err)
	}
	c := &Cloud{options: options, dir: dir}
	for _, step := range []func(context.Context) error{c.startServices, c.makeIdentities, c.waitForNeutron, c.makeNetworks} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("starting OpenStack: %w\n%s", err, c.Logs()), c.Stop())
		}
	}
	return c, nil
}

// Stop ends the cloud and removes its files.
func (c *Cloud) Stop() error {
	var errs []error
	for _, d := range []*framework.Daemon{c.neutron, c.keystone} {
		if d != nil {
			errs = append(errs, d.Stop())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}

// Dir is the folder of the cloud's files.
func (c *Cloud) Dir() string { return c.dir }

// PIDs returns the process IDs of the services.
func (c *Cloud) PIDs() map[string]int {
	return map[string]int{"keystone": c.keystone.PID(), "neutron": c.neutron.PID()}
}

// Logs returns the end of both services' logs.
func (c *Cloud) Logs() string {
	var logs string
	for _, d := range []*framework.Daemon{c.keystone, c.neutron} {
		if d != nil {
			logs += string(d.LogTail())
		}
	}
	return logs
}

// CloudsYAML returns a clouds.yaml with the entries admin, member and other, which log in by password.
func (c *Cloud) CloudsYAML() []byte { return CloudsYAML(c.keystoneURL) }

// CloudsYAML returns a clouds.yaml for a Keystone with the usual users.
func CloudsYAML(authURL string) []byte {
	text := []byte("clouds:\n")
	for _, name := range []string{Admin, Member, Other} {
		text = fmt.Appendf(text, `  %[1]s:
    region_name: %[4]s
    auth:
      auth_url: %[2]s
      username: %[1]s
      password: %[3]s
      project_name: %[1]s
      user_domain_name: Default
      project_domain_name: Default
`, name, authURL, Password(name), Region)
	}
	return text
}

// Endpoints are patterns that allow for the cloud's URLs.
func (c *Cloud) Endpoints() []string { return []string{"http://127.0.0.1"} }

const python = "/usr/bin/python3"

// Installed errs if the packages are not there, and names the command that installs them.
func Installed() error {
	const modules = "/usr/lib/python3/dist-packages"
	for _, path := range []string{python, filepath.Join(modules, "keystone"), filepath.Join(modules, "neutron")} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s is missing: run 'make openstack-packages' (Debian's python3-keystone and python3-neutron)", path)
		}
	}
	return nil
}

// startServices starts both and waits for Keystone.
func (c *Cloud) startServices(ctx context.Context) error {
	ports := make([]int, 2)
	for i := range ports {
		var err error
		if ports[i], err = framework.FreePort(); err != nil {
			return err
		}
	}
	keystone := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	c.keystoneURL, c.neutronURL = keystone+"/v3", fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	settings := settings{Dir: c.dir, Keystone: keystone, NeutronPort: ports[1], AdminPassword: Password(Admin)}
	if err := settings.write(); err != nil {
		return err
	}
	var err error
	c.keystone, err = c.startPython("keystone", filepath.Join(c.dir, "keystone.conf"), filepath.Join(c.dir, "keystone.db"),
		strconv.Itoa(ports[0]), Password(Admin))
	if err != nil {
		return err
	}
	c.neutron, err = c.startPython("neutron", filepath.Join(c.dir, "neutron.db"), "--config-file", filepath.Join(c.dir, "neutron.conf"))
	if err != nil {
		return err
	}
	return c.keystone.Wait(ctx, func(ctx context.Context) error { return answers(ctx, c.keystoneURL) })
}

func (c *Cloud) waitForNeutron(ctx context.Context) error {
	return c.neutron.Wait(ctx, func(ctx context.Context) error { return answers(ctx, c.neutronURL) })
}

// startPython starts a service by Debian's Python, whatever other one and whatever proxy the environment names.
func (c *Cloud) startPython(name string, args ...string) (*framework.Daemon, error) {
	return framework.StartDaemon(framework.DaemonOptions{
		Name:    name,
		Path:    python,
		Args:    append([]string{"-I", filepath.Join(c.dir, "serve_"+name+".py")}, args...),
		Env:     []string{"EVENTLET_NO_GREENDNS=yes", "LC_ALL=C.UTF-8", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"},
		LogPath: filepath.Join(c.dir, name+".log"),
		Detach:  c.options.Detach,
	})
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
