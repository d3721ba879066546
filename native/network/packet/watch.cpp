#include "network/packet/watch.hpp"

#include <algorithm>

namespace yantra::packet {

Watch::Watch(Common& all, const Queues& queues)
    : all_(all), queues_(queues), seen_(std::make_shared<Seen>(all.settings)) {
    all_.senders.seen = seen_.get();
    all_.ports.each([this](PortId port) { seen_->begin(all_.ports[port], port.index(), 0); });
}

void Watch::note(PortId port) { seen_->note(all_.ports[port], port.index(), all_.now()); }

void Watch::is_sent(FlowSpec& flow, u64 tick) {
    goes_on();
    if (seen_->looks()) {
        SeenFlow row{flow.source, flow.destination, flow.bytes, tick};
        row.alone = all_.routes.alone(flow.bytes, flow.data_route);
        flow.seen = seen_->begin(row);
    }
}

void Watch::begins(Sender& sender) {
    seen_->begin(sender, all_.now());
    if (all_.settings.sweep_every_ns > 0.0 && !sweeps_) {
        begin_sweeps();
    }
}

void Watch::sample(LinkId link, u64 every, std::vector<u64>& into) {
    sampled_ = link;
    sample_every_ = every;
    samples_ = &into;
    all_.senders.wheel.schedule(all_.now() + every, event(EventKind::samples, 0));
}

void Watch::note_sample() {
    if (all_.progress.unfinished > 0) {
        samples_->push_back(all_.ports[sampled_].queue_bytes);
        all_.senders.wheel.schedule(all_.now() + sample_every_, event(EventKind::samples, 0));
    }
}

u64 Watch::sweep_ticks() const { return std::max<u64>(1, all_.senders.ticks(all_.settings.sweep_every_ns)); }

void Watch::begin_sweeps() {
    const u64 now = all_.now();
    const u64 every = sweep_ticks();
    const u64 from = all_.senders.ticks(all_.settings.sweep_from_ns);
    const u64 at = now <= from ? from : from + ((now - from) / every + 1) * every;
    all_.senders.wheel.schedule(at, event(EventKind::sweeps, 0));
    sweeps_ = true;
}

// Without control frames, as the ns-3 fork's monitor.
void Watch::sweep() {
    constexpr u64 least_bytes = 1000;
    bool is_idle = all_.progress.active == 0;
    all_.ports.each([&](PortId number) {
        const Port& port = all_.ports[number];
        is_idle = is_idle && port.data_bytes == 0;
        if (port.data_bytes >= least_bytes && !all_.ports.is_host(port.from)) {
            seen_->swept(number.index(), port.data_bytes, all_.now());
        }
    });
    sweeps_ = !is_idle && !all_.senders.wheel.empty();
    if (sweeps_) {
        all_.senders.wheel.schedule(all_.now() + sweep_ticks(), event(EventKind::sweeps, 0));
    }
}

std::shared_ptr<const Seen> Watch::seen() {
    return seen(all_.ports.all(), all_.totals, all_.now(), busy_at_end_);
}

std::shared_ptr<const Seen> Watch::seen(const HugeVector<Port>& ports, const Totals& totals, u64 now,
                                        const std::vector<u64>& busy_ticks) {
    seen_->update(ports, totals, now, busy_ticks);
    return seen_;
}

std::vector<u64> Watch::busy_at(u64 tick, const HugeVector<Port>& ports) const {
    std::vector<u64> found;
    for (const Port& port : ports) {
        const u64 last = port.last_tick + (port.packets > 0 ? all_.ports.ticks_of(port, port.last_bytes) : 0);
        const u64 ends = port.by_formula ? port.busy_until : last;
        found.push_back(port.busy_ticks - std::min(port.busy_ticks, ends - std::min(ends, tick)));
    }
    return found;
}

}  // namespace yantra::packet
