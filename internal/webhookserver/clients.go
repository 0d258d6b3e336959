// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// Clients are who may call the webhooks: whoever has a certificate of a CA, for client authentication, and of one name if
// there is one. All methods are safe for use by any number of goroutines.
type Clients struct {
	authority *dynamiccertificates.DynamicFileCAContent
	name      string
}

// NewClients reads the certificates of the CA from a PEM file. The name is the common name or a DNS name of the one client that
// may call; empty means every client of the CA.
func NewClients(caFile, name string) (*Clients, error) {
	authority, err := dynamiccertificates.NewDynamicCAContentFromFile("webhook-client-ca", caFile)
	if err != nil {
		return nil, err
	}
	return &Clients{authority: authority, name: name}, nil
}

// follow reads the file again whenever it changes, until ctx ends. While it cannot be read, what was read last stays.
func (c *Clients) follow(ctx context.Context) { c.authority.Run(ctx, 1) }

// verify errs unless the client's certificate is valid now, of the CA as it is now, and of the right name.
func (c *Clients) verify(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client has no certificate")
	}
	options, ok := c.authority.VerifyOptions()
	if !ok {
		return errors.New("there is no client CA")
	}
	options.Intermediates = x509.NewCertPool()
	for _, intermediate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	client := state.PeerCertificates[0]
	if _, err := client.Verify(options); err != nil {
		return fmt.Errorf("verifying the certificate of client %q: %w", client.Subject.CommonName, err)
	}
	if c.name != "" && c.name != client.Subject.CommonName && !slices.Contains(client.DNSNames, c.name) {
		return fmt.Errorf("client %q is not %q", client.Subject.CommonName, c.name)
	}
	return nil
}

// require has every handshake fail unless the client may call. Nothing is resumed: who has called before is asked again.
func (c *Clients) require(config *tls.Config) {
	config.ClientAuth = tls.RequireAnyClientCert
	config.VerifyConnection = c.verify
	config.SessionTicketsDisabled = true
}
