#include "trace/linking/linked_text.hpp"

#include <array>
#include <charconv>
#include <cstdlib>

#include "trace/replay/recorded.hpp"

namespace yantra::linking {

namespace {

constexpr std::size_t piece = std::size_t{1} << 20U;
constexpr std::int64_t exact = std::int64_t{1} << 53U;  // a double holds whole numbers up to here

void put(std::string& out, std::int64_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

// The double next to `nanos` / 1000, for a number that is no multiple of 1000.
double micros_of(std::int64_t nanos) {
    if (-exact < nanos && nanos < exact) {
        return static_cast<double>(nanos) / 1000;
    }
    std::array<char, 32> digits{};
    char* end = std::to_chars(digits.data(), digits.data() + digits.size(), nanos).ptr;
    end[0] = 'e', end[1] = '-', end[2] = '3';
    double found = 0;
    std::from_chars(digits.data(), end + 3, found);
    return found;
}

}  // namespace

std::string LinkedText::next() {
    out_.clear();
    out_.reserve(piece + piece / 8);
    const auto& operators = file_.operators.id;
    const auto& ops = file_.ops.id;
    while (out_.size() < piece && (operator_ < operators.size() || op_ < ops.size())) {
        if (operator_ + op_ > 0) {
            out_ += ',';
        }
        if (op_ < ops.size() && (operator_ == operators.size() || ops[op_] < operators[operator_])) {
            add_device_op(op_++);
        } else {
            add_operator(operator_++);
        }
    }
    return out_;
}

void LinkedText::add_operator(std::uint32_t at) {
    const auto& all = file_.operators;
    head(all.id[at], all.name[at], all.parent[at]);
    tensors_and_attributes(at);
    const bool is_timed = all.start[at] != replay::LinkedFile::no_time;
    if (is_timed) {
        times(all.dur[at], all.exclusive[at], all.start[at], sources_[at]);
    }
    whole("host_id", all.host_id[at]);
    whole("tid", all.tid[at]);
    if (is_timed) {
        whole("start_ns", all.start[at]);
        whole("dur_ns", all.dur[at]);
        whole("exclusive_ns", all.exclusive[at]);
    }
    const auto& with_comm = file_.operators_with_comm;
    if (operator_comm_ < with_comm.size() && with_comm[operator_comm_] == at) {
        out_.append(",\"comm\":").append(file_.operator_comm[operator_comm_++]);
    }
    out_ += '}';
}

void LinkedText::add_device_op(std::uint32_t at) {
    const auto& all = file_.ops;
    const std::uint32_t parent = all.parent[at];
    head(all.id[at], all.name[at], parent);
    if (parent == replay::none) {
        out_ += R"(,"inputs":{"values":[],"shapes":[],"types":[]},"outputs":{"values":[],"shapes":[],"types":[]})"
                R"(,"attrs":[])";
    } else {
        tensors_and_attributes(parent);
    }
    times(all.dur[at], all.dur[at], all.start[at], -1);
    text("cat", all.cat[at]);
    out_ += R"(,"ph":"X")";
    whole("stream", all.stream[at]);
    if (!file_.names.names()[all.group[at]].empty()) {
        text("pg_name", all.group[at]);
    }
    whole("start_ns", all.start[at]);
    whole("dur_ns", all.dur[at]);
    whole("device", all.device[at]);
    whole("correlation", all.correlation[at]);
    if (all.is_launched[at] != 0) {
        out_ += ",\"launch\":{\"tid\":";
        put(out_, all.launch_tid[at]);
        whole("start_ns", all.launch_start[at]);
        whole("end_ns", all.launch_end[at]);
        text("name", all.launch_name[at]);
        out_ += '}';
    }
    out_ += ",\"after\":[";
    for (std::uint32_t one = all.first[at]; one < all.first[at + 1]; ++one) {
        if (one > all.first[at]) {
            out_ += ',';
        }
        put(out_, all.id[all.after[one]]);
    }
    out_ += ']';
    if (all.bytes[at] != -1) {
        whole("bytes", all.bytes[at]);
    }
    const auto& with_comm = file_.ops_with_comm;
    if (op_comm_ < with_comm.size() && with_comm[op_comm_] == at) {
        out_.append(",\"comm\":").append(file_.op_comm[op_comm_++]);
    }
    out_ += '}';
}

void LinkedText::head(std::int64_t id, std::uint32_t name, std::uint32_t parent) {
    out_ += "{\"id\":";
    put(out_, id);
    text("name", name);
    whole("ctrl_deps", parent == replay::none ? id : file_.operators.id[parent]);
}

void LinkedText::tensors_and_attributes(std::uint32_t of) {
    const auto& all = file_.operators;
    out_.append(",\"inputs\":").append(file_.tensors.names()[all.inputs[of]]);
    out_.append(",\"outputs\":").append(file_.tensors.names()[all.outputs[of]]);
    out_ += ",\"attrs\":";
    std::uint64_t number = all.first[of];
    const std::string& layout = file_.layouts.names()[all.layout[of]];
    std::size_t from = 0;
    for (std::size_t hole = 0; (hole = layout.find('\0', from)) != std::string::npos; from = hole + 1) {
        out_.append(layout, from, hole - from);
        put(out_, all.numbers[number++]);
    }
    out_.append(layout, from);
}

void LinkedText::times(std::int64_t dur, std::int64_t exclusive, std::int64_t start, std::int64_t source) {
    micros("inclusive_dur", dur);
    micros("exclusive_dur", exclusive);
    micros("ts", origin_ns_ + start);
    if (source < 0) {
        out_ += ",\"inter_thread_dep\":null";
    } else {
        whole("inter_thread_dep", source);
    }
}

void LinkedText::whole(const char* key, std::int64_t number) {
    out_.append(",\"").append(key).append("\":");
    put(out_, number);
}

void LinkedText::micros(const char* key, std::int64_t nanos) {
    if (nanos % 1000 == 0) {
        whole(key, nanos / 1000);
        return;
    }
    std::array<char, 40> digits{};
    const double us = micros_of(nanos);
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), us, std::chars_format::fixed).ptr;
    const std::string_view said(digits.data(), static_cast<std::size_t>(end - digits.data()));
    out_.append(",\"").append(key).append("\":").append(said);
    if (said.find('.') == std::string_view::npos) {
        out_ += ".0";
    }
}

void LinkedText::text(const char* key, std::uint32_t name) {
    out_.append(",\"").append(key).append("\":\"").append(file_.names.names()[name]).push_back('"');
}

}  // namespace yantra::linking
