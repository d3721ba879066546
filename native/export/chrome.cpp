#include "export/chrome.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "export/json_text.hpp"

namespace yantra {

namespace {

void append_microseconds(std::string& out, u64 time) {
    append_number(out, time / 1000);
    const u64 rest = time % 1000;
    out += '.';
    out += static_cast<char>('0' + rest / 100);
    out += static_cast<char>('0' + rest / 10 % 10);
    out += static_cast<char>('0' + rest % 10);
}

std::string quoted(std::string_view text) {
    std::string out;
    append_json(out, text);
    return out;
}

}  // namespace

ChromeWriter::ChromeWriter() : out_("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[") {}

u64 ChromeWriter::text(std::string_view words) {
    const u64 at = texts_.intern(words);
    if (at == quoted_.size()) {
        quoted_.push_back(quoted(words));
    }
    return at;
}

void ChromeWriter::metadata(std::string_view what, u64 process, u64 thread, std::string_view key,
                            std::string_view value) {
    out_ += empty_ ? "\n" : ",\n";
    empty_ = false;
    out_ += "{\"ph\":\"M\",\"pid\":";
    append_number(out_, process);
    out_ += ",\"tid\":";
    append_number(out_, thread);
    out_ += ",\"name\":";
    append_json(out_, what);
    out_ += ",\"args\":{";
    append_json(out_, key);
    out_ += ':';
    out_ += value;
    out_ += "}}";
}

void ChromeWriter::process(u64 track, u64 number, std::string_view name, u64 place) {
    process_.resize(std::max<std::size_t>(process_.size(), track + 1), absent);
    process_[track] = number;
    metadata("process_name", number, 0, "name", quoted(name));
    metadata("process_sort_index", number, 0, "sort_index", std::to_string(place));
}

void ChromeWriter::track(u64 track, u64 parent, std::string_view name, std::string_view) {
    process_.resize(std::max<std::size_t>(process_.size(), track + 1), absent);
    process_[track] = process_of(parent);
    metadata("thread_name", process_[track], track, "name", quoted(name));
    metadata("thread_sort_index", process_[track], track, "sort_index", std::to_string(track));
}

void ChromeWriter::counter(u64 track, u64 parent, std::string_view name, std::string_view unit) {
    process_.resize(std::max<std::size_t>(process_.size(), track + 1), absent);
    counted_.resize(process_.size());
    process_[track] = process_of(parent);
    counted_[track] = quoted(std::string(name) + " (" + std::string(unit) + ")");
}

u64 ChromeWriter::process_of(u64 track) const {
    ensure(track < process_.size() && process_[track] != absent, "chrome: no such track");
    return process_[track];
}

void ChromeWriter::event(char phase, u64 track, u64 time) {
    out_ += empty_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    empty_ = false;
    out_ += phase;
    out_ += "\",\"pid\":";
    append_number(out_, process_of(track));
    out_ += ",\"tid\":";
    append_number(out_, track);
    out_ += ",\"ts\":";
    append_microseconds(out_, time);
}

void ChromeWriter::arguments(const std::vector<Argument>& arguments, std::size_t at) {
    out_ += ",\"args\":{";
    bool first = true;
    for (const Argument& argument : arguments) {
        const u64 value = argument.values[at];
        if (value == absent) {
            continue;
        }
        if (!std::exchange(first, false)) {
            out_ += ',';
        }
        out_ += quoted_.at(argument.name);
        out_ += ':';
        switch (argument.kind) {
            case Argument::Kind::whole: append_json(out_, value); break;
            case Argument::Kind::real: append_number(out_, std::bit_cast<double>(value)); break;
            case Argument::Kind::text: out_ += quoted_.at(value);
        }
    }
    out_ += "}}";
}

void ChromeWriter::slices(const Slices& slices, const MessageEnds& ends) {
    check(slices, ends);
    struct Lines {
        void begin(std::size_t i) {
            to.event('B', slices.track[i], slices.start[i]);
            to.out_ += ",\"name\":";
            to.out_ += to.quoted_.at(slices.name[i]);
            to.out_ += ",\"cat\":";
            to.out_ += to.quoted_.at(slices.category[i]);
            to.arguments(slices.arguments, i);
        }
        void message(std::size_t i) {
            const bool arrives = ends.arrives[i] != 0;
            const bool flows = ends.flow[i] != absent;
            to.event(!flows ? 'i' : arrives ? 'f' : 's', slices.track[ends.slice[i]], ends.time[i]);
            if (flows) {
                to.out_ += arrives ? ",\"bp\":\"e\",\"id\":" : ",\"id\":";
                append_number(to.out_, ends.flow[i]);
            }
            to.out_ += ",\"cat\":\"message\",\"name\":";
            to.out_ += flows ? std::string_view("\"message\"") : to.quoted_.at(ends.name[i]);
            to.arguments(ends.arguments, i);
        }
        void end(std::size_t i) {
            to.event('E', slices.track[i], slices.end[i]);
            to.out_ += '}';
        }
        ChromeWriter& to;
        const Slices& slices;
        const MessageEnds& ends;
    };
    in_order(slices, ends, Lines{*this, slices, ends});
}

void ChromeWriter::values(u64 track, std::span<const u64> time, std::span<const double> value) {
    ensure(time.size() == value.size(), "chrome: a time for each value");
    for (std::size_t i = 0; i < time.size(); ++i) {
        event('C', track, time[i]);
        out_ += ",\"name\":";
        out_ += counted_.at(track);
        out_ += ",\"args\":{\"value\":";
        append_number(out_, value[i]);
        out_ += "}}";
    }
}

void ChromeWriter::finish() { out_ += "\n]}\n"; }

std::string ChromeWriter::take() { return std::exchange(out_, {}); }

}  // namespace yantra
