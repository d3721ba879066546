// The inputs or outputs of a PyTorch operator, from the JSON of a trace to the text Chakra keeps.
//
// Chakra's IOInfo holds Python's str() of the decoded lists. Decoding 30,000 of them into objects only
// to print them is a fifth of a conversion, so the usual ones are rewritten as text: lists, numbers,
// plain strings. Whatever is unusual (escapes, objects, very long numbers) gives None, and Python does
// it the long way; tests hold the two against each other.
#include "bind/tensor_text.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace yantra {
namespace {

constexpr int deepest = 64;
constexpr std::size_t longest_integer = 18;  // digits that fit 64 bits whatever they are
constexpr std::size_t longest_number = 40;

class Rewriter {
public:
    explicit Rewriter(std::string_view json) : json_(json) {}

    // The texts of values, shapes and types of one object.
    std::optional<std::array<std::string, 3>> io() {
        std::array<std::string, 3> texts{"[]", "[]", "[]"};
        if (!take('{')) {
            return std::nullopt;
        }
        if (take('}')) {
            return ended() ? std::optional(texts) : std::nullopt;
        }
        do {
            if (!member(texts)) {
                return std::nullopt;
            }
        } while (take(','));
        return take('}') && ended() ? std::optional(texts) : std::nullopt;
    }

private:
    bool member(std::array<std::string, 3>& texts) {
        const std::optional<std::string_view> key = plain_string();
        if (!key || !take(':')) {
            return false;
        }
        std::string ignored;
        std::string& text = *key == "values"   ? texts[0]
                            : *key == "shapes" ? texts[1]
                            : *key == "types"  ? texts[2]
                                               : ignored;
        text.clear();
        return peek() == '[' && list(text, 1);
    }

    bool list(std::string& out, int depth) {
        if (depth > deepest || !take('[')) {
            return false;
        }
        out += '[';
        if (take(']')) {
            out += ']';
            return true;
        }
        do {
            if (out.back() != '[') {
                out += ", ";
            }
            if (!value(out, depth)) {
                return false;
            }
        } while (take(','));
        out += ']';
        return take(']');
    }

    bool value(std::string& out, int depth) {
        switch (peek()) {
            case '[':
                return list(out, depth + 1);
            case '"':
                return text(out);
            case 't':
                return word("true", "True", out);
            case 'f':
                return word("false", "False", out);
            case 'n':
                return word("null", "None", out);
            default:
                return number(out);
        }
    }

    bool text(std::string& out) {
        const std::optional<std::string_view> characters = plain_string();
        if (!characters) {
            return false;
        }
        out += '\'';
        out += *characters;
        out += '\'';
        return true;
    }

    // A string without escapes, quotes and characters beyond ASCII: Python shows it as it is.
    std::optional<std::string_view> plain_string() {
        if (!take('"')) {
            return std::nullopt;
        }
        const std::size_t begin = at_;
        for (; at_ < json_.size(); ++at_) {
            const char c = json_[at_];
            if (c == '"') {
                return json_.substr(begin, at_++ - begin);
            }
            if (c < ' ' || c > '~' || c == '\\' || c == '\'') {
                return std::nullopt;
            }
        }
        return std::nullopt;
    }

    bool word(std::string_view json, std::string_view python, std::string& out) {
        if (json_.substr(at_, json.size()) != json) {
            return false;
        }
        at_ += json.size();
        out += python;
        return true;
    }

    // The grammar of JSON: [-] digits without leading zeros [. digits] [e [+-] digits].
    bool number(std::string& out) {
        const std::size_t begin = at_;
        if (at_ < json_.size() && json_[at_] == '-') {
            ++at_;
        }
        const std::string_view before_point = digits();
        if (before_point.empty() || (before_point.size() > 1 && before_point.front() == '0')) {
            return false;
        }
        bool whole = true;
        if (at_ < json_.size() && json_[at_] == '.') {
            ++at_;
            whole = false;
            if (digits().empty()) {
                return false;
            }
        }
        if (at_ < json_.size() && (json_[at_] == 'e' || json_[at_] == 'E')) {
            ++at_;
            whole = false;
            if (at_ < json_.size() && (json_[at_] == '-' || json_[at_] == '+')) {
                ++at_;
            }
            if (digits().empty()) {
                return false;
            }
        }
        const std::string_view text = json_.substr(begin, at_ - begin);
        if (!whole) {
            return fraction(text, out);
        }
        if (before_point.size() > longest_integer || text == "-0") {
            return false;
        }
        out += text;
        return true;
    }

    std::string_view digits() {
        const std::size_t begin = at_;
        while (at_ < json_.size() && json_[at_] >= '0' && json_[at_] <= '9') {
            ++at_;
        }
        return json_.substr(begin, at_ - begin);
    }

    static bool fraction(std::string_view written, std::string& out) {
        if (written.size() > longest_number) {
            return false;
        }
        const double number = PyOS_string_to_double(std::string(written).c_str(), nullptr, nullptr);
        if (PyErr_Occurred() != nullptr) {
            PyErr_Clear();
            return false;
        }
        if (!std::isfinite(number)) {
            return false;
        }
        char* text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, nullptr);
        if (text == nullptr) {
            throw nb::python_error();
        }
        out += text;
        PyMem_Free(text);
        return true;
    }

    bool take(char wanted) {
        if (peek() != wanted) {
            return false;
        }
        ++at_;
        return true;
    }

    // The next character that is no white space; 0 at the end.
    char peek() {
        while (at_ < json_.size() && (json_[at_] == ' ' || json_[at_] == '\n' ||
                                      json_[at_] == '\t' || json_[at_] == '\r')) {
            ++at_;
        }
        return at_ < json_.size() ? json_[at_] : '\0';
    }

    bool ended() { return peek() == '\0' && at_ == json_.size(); }

    std::string_view json_;
    std::size_t at_ = 0;
};

nb::object io_text(const nb::bytes& json) {
    const auto texts = Rewriter(std::string_view(json.c_str(), json.size())).io();
    if (!texts) {
        return nb::none();
    }
    const auto text = [&](std::size_t at) {
        return nb::str((*texts)[at].data(), (*texts)[at].size());
    };
    return nb::make_tuple(text(0), text(1), text(2));
}

}  // namespace

void register_tensor_text(nb::module_& module) {
    module.def("io_text", &io_text, nb::arg("json"));
}

}  // namespace yantra
