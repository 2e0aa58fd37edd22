package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// meanwhile says that the ingress is of use while Temporal is not yet.
func (d *dev) meanwhile() {
	fmt.Fprintf(d.stdout, `
The ingress accepts events already; they run when Temporal is up.
%s
`, d.firstEvent())
}

// welcome says where everything is and what to do first.
func (d *dev) welcome() {
	ui := d.temporal.uiURL
	if ui == "" {
		ui = "that of this server"
	}
	fmt.Fprintf(d.stdout, `
oncehook is up.

  ingress      %s
  admin API    %s
  Temporal     %s
  Temporal UI  %s
  receiver     %s  (what effects call; open it)
  data         %s
  log          %[10]s
%[7]s
Look at it from the other side:

  %[8]s%[9]s trace event-demo-1042

A paid invoice is settled, booked and announced to the receiver, once, also when a second event tells of it:

  %[8]s%[9]s send stripe invoice.paid
  %[8]s%[9]s send stripe invoice.paid
  %[8]s%[9]s send stripe invoice.paid --set data.object.id=in_demo_43

There are more senders. These list what each can send:

  %[8]s%[9]s send acme
  %[8]s%[9]s send github
  %[8]s%[9]s send stripe

Ctrl-C stops everything; the next start finds it again.
`, d.system.ingressURL, d.system.adminURL, d.temporal.address, ui, d.receiver.url, d.dir, d.firstEvent(), d.configHint(), os.Args[0], d.path(devLog))
}

func (d *dev) firstEvent() string {
	token, err := os.ReadFile(d.path("secrets", devLogistics))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(`
Send a first event, and send it again:

  curl -i %s/hooks/%s \
    -H 'Authorization: Bearer %s' \
    -H 'Content-Type: application/json' \
    -d '{"id":"event-demo-1042","tenant":"logistics-sandbox","type":"shipment.depot_arrival","occurred_at":"2026-11-30T09:30:00Z","shipment_id":"shipment-demo-42","depot_id":"depot-demo-7"}'
`, d.system.ingressURL, devLogistics, strings.TrimSpace(string(token)))
}

// configHint tells the other verbs where to look, unless they would look there anyway.
func (d *dev) configHint() string {
	found, err := d.configPath()
	if err == nil {
		if absolute, err := filepath.Abs(found); err == nil && absolute == d.ownConfig() {
			return ""
		}
	}
	return "ONCEHOOK_CONFIG='" + d.ownConfig() + "' "
}
