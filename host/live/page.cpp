#include "host/live/page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "host/report/escape.hpp"
#include "host/report/markup.hpp"

extern "C" {
extern const char wattrig_live_js_begin[], wattrig_live_js_end[];
}

namespace wattrig::live {

std::string live_page(const PageFacts& facts) {
    const bool replay = !facts.replay.empty();
    std::string out = report::page_head(facts.title + (replay ? " - replay" : " - live"), "connect-src 'self'");
    if (!facts.mark.empty())
        out += fmt::format(
            "<div class=\"simulated\" role=\"note\"><strong>{}</strong><span>made by models: not a measurement</span></div>\n",
            report::html_escape(facts.mark));
    out +=
        fmt::format("<header><h1>{}</h1><p class=\"lead\" id=\"state\" role=\"status\">connecting ...</p></header>\n<main>\n",
                    report::html_escape(report::clean_utf8(facts.title)));
    out += "<div class=\"cards\" id=\"now\"></div>\n<div class=\"switches\" id=\"controls\">\n";
    if (replay)
        out += "<label class=\"jump\">Show <select id=\"jump\"></select></label>\n";
    else
        out +=
            "<label class=\"jump\">Show the last <select id=\"span\"><option value=\"10\">10 s</option>"
            "<option value=\"60\" selected>minute</option><option value=\"600\">10 minutes</option></select></label>\n"
            "<span class=\"buttons\"><button type=\"button\" id=\"pause\" aria-pressed=\"false\">Pause</button>"
            "<button type=\"button\" id=\"record\">Start recording</button></span>\n"
            "<span class=\"jump\"><label for=\"mark\">Mark</label> <input id=\"mark\" maxlength=\"100\" placeholder=\"what "
            "happens now\"> "
            "<button type=\"button\" id=\"set-mark\">Set</button></span>\n";
    out +=
        "<span class=\"buttons\"><button type=\"button\" data-zoom=\"in\">Zoom in</button><button type=\"button\" "
        "data-zoom=\"out\">Zoom out"
        "</button><button type=\"button\" data-zoom=\"left\">Earlier</button><button type=\"button\" "
        "data-zoom=\"right\">Later</button>";
    if (replay) out += "<button type=\"button\" data-zoom=\"all\">Whole run</button>";
    out += "</span></div>\n";
    out += report::chart_frame("live", "Power, voltage and speed",
                               "drag over a span for its averages; + and - zoom, arrows move", facts.has_work ? 560 : 470);
    out +=
        "<p class=\"note\" id=\"shown\" role=\"status\"></p>\n<h2 id=\"figures\">Averages over a span</h2>\n"
        "<p class=\"jump\"><label>From <input id=\"from\" type=\"number\" step=\"any\"> s</label> "
        "<label>to <input id=\"to\" type=\"number\" step=\"any\"> s</label></p>\n"
        "<table class=\"figures\" id=\"averages\"><tbody></tbody></table>\n<h2>Marks</h2>\n<ul id=\"marks\" "
        "class=\"warnings\"></ul>\n"
        "</main>\n<footer>Made by wattrig. Charts by Apache ECharts (Apache License 2.0).</footer>\n";
    const nlohmann::json data = {{"mark", facts.mark},
                                 {"has_work", facts.has_work},
                                 {"replay", replay ? nlohmann::json::parse(facts.replay, nullptr, false) : nlohmann::json()}};
    return out + report::page_scripts(
                     data, {{wattrig_live_js_begin, static_cast<std::size_t>(wattrig_live_js_end - wattrig_live_js_begin)}});
}

}  // namespace wattrig::live
