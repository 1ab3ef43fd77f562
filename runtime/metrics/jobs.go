package metrics

import "time"

// jobs is what is counted of the job queue here. Options.Jobs has the rest.
type jobs struct{ wait *histogram }

// JobWait records how long a job of the queue waited for its first run.
func (s *Set) JobWait(d time.Duration) { s.jobs.wait.observe(d) }

// gatherJobs writes nothing where there is no job queue.
func (s *Set) gatherJobs(g *gathered) {
	if s.o.Jobs == nil {
		return
	}
	j := s.o.Jobs()
	if j == nil {
		return
	}
	g.gauge("pinion_jobs_waiting", "Jobs of the queue that wait, of all servers.", float64(j.Waiting))
	g.gauge("pinion_jobs_running", "Jobs of the queue that run on this server.", float64(j.Running))
	g.counter("pinion_jobs_redelivered_total", "Jobs that this server took because the server that ran them was lost.",
		j.Redelivered)
	g.counter("pinion_jobs_dead_total", "Jobs that this server made dead letters.", j.Dead)
	g.counter("pinion_jobs_fenced_total", "Runs of this server whose job another server had taken.", j.Fenced)
	g.histogram("pinion_job_wait_seconds", "Time for which a job waited in the queue before its first run.", s.jobs.wait)
}
