package server

import (
	"cmp"

	"pinion/cmd/internal/version"
	"pinion/runtime/files"
	"pinion/runtime/webhook"
)

func (f *Server) openFiles() (err error) {
	s := f.s
	f.files, err = files.New(files.Options{
		OnTransfer: f.metrics.Transfer,
		Root:       f.dir.Files(), Remake: f.dir.RemakeFiles, UserAgent: cmp.Or(s.UserAgent, "pinion/"+version.Pinion),
		DenyPrivate: s.DenyPrivate, Logger: f.log,
		MaxFile: s.DownloadSize, MaxFiles: s.DownloadFiles, Timeout: s.DownloadTimeout,
		DenyPrivateUploads: s.DenyPrivateWebhooks,
	})
	return err
}

// makeWebhooks makes the sender of webhooks. Without a key those of Replicate's clients are signed with a random one,
// which the clients can ask for.
func (f *Server) makeWebhooks() error {
	key := f.s.WebhookKey
	if key.IsZero() {
		key = webhook.NewKey()
	}
	f.s.Protocols.WebhookSecret = key.String()
	f.webhooks = webhook.New(webhook.Options{
		OnDelivery: f.metrics.Webhook, Memory: f.budget,
		AuthToken: f.s.WebhookToken, Key: key, SignMembers: f.s.WebhookKey.IsZero(), UserAgent: "pinion/" + version.Pinion,
		Throttle: f.s.WebhookInterval, Logger: f.log,
		DenyPrivate: f.s.DenyPrivateWebhooks,
	})
	return nil
}
