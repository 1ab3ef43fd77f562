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

func (f *Server) makeWebhooks() error {
	f.webhooks = webhook.New(webhook.Options{
		OnDelivery: f.metrics.Webhook, Memory: f.budget,
		AuthToken: f.s.WebhookToken, UserAgent: "pinion/" + version.Pinion, Throttle: f.s.WebhookInterval, Logger: f.log,
		DenyPrivate: f.s.DenyPrivateWebhooks,
	})
	return nil
}
