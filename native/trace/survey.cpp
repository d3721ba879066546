#include "trace/survey.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "trace/coding.hpp"
#include "trace/cycle.hpp"
#include "trace/decode.hpp"
#include "trace/usual_reader.hpp"

namespace yantra {

bool is_sound_value(QuickReader in) {
    std::uint64_t key = 0;
    if (!in.varint(key)) {
        return false;
    }
    const std::uint64_t number = key >> 3U;
    if (number < field::attribute_first_value || number > field::attribute_last_value) {
        return false;
    }
    const auto kind = static_cast<AttributeKind>(number);
    const auto type = static_cast<WireType>(key & 7U);
    if (is_list(kind) || type != coding_of(kind).wire) {
        return false;
    }
    std::uint64_t bits = 0;
    std::string_view text;
    const bool is_whole = is_text(kind) ? in.block(text) : in.number(type, bits);
    return is_whole && in.at_end() && (kind != AttributeKind::string || is_valid_text(text));
}

AttributeRole Survey::role(std::string_view name) {
    const std::pair<std::string_view, IntColumn*> recorded[] = {
        {"stream", &stream}, {"thread", &thread}, {"tid", &tid}, {"start_time_ns", &start_time_ns},
        {"duration_ns", &graph.duration_ns}};
    for (const auto& [called, column] : recorded) {
        if (name == called) {
            return {Role::recorded, OwnColumn(*column)};
        }
    }
    if (name == "part") {
        return {Role::part, std::nullopt};
    }
    if (name == "communication") {
        return {Role::communication, std::nullopt};
    }
    return role_of(name, graph, false);
}

bool Survey::read_io(std::uint64_t key, QuickReader io) {
    IoViews read;
    while (!io.at_end()) {
        std::uint64_t field = 0;
        std::string_view text;
        if (!io.varint(field) || (field & 7U) != static_cast<std::uint64_t>(WireType::block) || !io.block(text) ||
            !is_valid_text(text)) {
            return false;
        }
        switch (field >> 3U) {
            case field::io_values: read.values = text; break;
            case field::io_shapes: read.shapes = text; break;
            case field::io_types: read.types = text; break;
            default: return false;
        }
    }
    if (key == key_of(field::node_inputs, WireType::block)) {
        if (read_) {
            return false;
        }
        read_ = read;
    }
    return true;
}

void Survey::take_io(std::size_t node, std::uint64_t type) {
    if (read_ && type == static_cast<std::uint64_t>(NodeType::metadata)) {
        inputs.emplace_back(static_cast<std::uint32_t>(node),
                            IoTexts{std::string(read_->values), std::string(read_->shapes),
                                    std::string(read_->types)});
    }
    read_.reset();
}

Surveyor::Surveyor(std::uint64_t bytes) : bytes_(bytes) {}

Surveyor::~Surveyor() = default;

bool Surveyor::feed(std::string_view piece) {
    if (is_usual_) {
        try {
            is_usual_ = take(piece);
        } catch (const TraceFault&) {
            is_usual_ = false;
        }
    }
    return is_usual_;
}

bool Surveyor::take(std::string_view piece) {
    const bool is_joined = !rest_.empty();
    if (is_joined) {
        rest_.append(piece);
    }
    const std::string_view bytes = is_joined ? std::string_view(rest_) : piece;
    QuickReader in(bytes);
    if (reader_ == nullptr && !begin(in)) {
        return false;
    }
    if (reader_ != nullptr && !reader_->read_whole(in, before_, static_cast<std::size_t>(bytes_))) {
        return false;
    }
    const std::size_t read = bytes.size() - in.left();
    before_ += read;
    if (is_joined) {
        rest_.erase(0, read);
    } else {
        rest_.assign(in.rest());
    }
    return true;
}

bool Surveyor::begin(QuickReader& in) {
    QuickReader ahead = in;
    QuickReader metadata;
    if (!ahead.record(metadata)) {
        return true;   // not whole yet
    }
    auto survey = std::make_shared<Survey>();
    survey->head = decode(in.rest().substr(0, in.left() - ahead.left()), Reading::everything, Layout::today);
    if (survey->head.unknown.field != 0 || !is_of_today(survey->head.version)) {
        return false;
    }
    std::size_t nodes = 0;
    QuickReader counted = ahead;
    for (QuickReader record; counted.record(record);) {
        ++nodes;
    }
    if (nodes == 0) {
        return true;
    }
    const std::size_t read = in.left() - counted.left();
    in = ahead;
    nodes = about_all(nodes, read, std::max<std::size_t>(static_cast<std::size_t>(bytes_), read));
    survey_ = std::move(survey);
    reader_ = std::make_unique<UsualReader>(survey_->graph, room_, nodes, false, survey_.get());
    return true;
}

std::shared_ptr<Survey> Surveyor::finish() {
    if (!is_usual_ || reader_ == nullptr || !rest_.empty() || !reader_->end()) {
        return nullptr;
    }
    room_.deps = {};
    room_.dep_end = {};
    room_.table = {};
    room_.seen = {};
    reader_->add_children_of_nodes();
    reader_->name_labels();
    reader_.reset();
    room_ = {};
    if (!find_cycle(survey_->graph).cycle.empty()) {
        return nullptr;
    }
    survey_->graph.complete_order = says_complete_order(survey_->head);
    return std::move(survey_);
}

}  // namespace yantra
